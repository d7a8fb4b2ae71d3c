"""
Topics with doubt, with BERTopic
================================

The documents are the docstrings of scikit-learn's estimators and functions, and the embeddings are latent semantic
indexing, so that no language model is required. HDBSCAN, the clusterer of BERTopic, leaves a large share of documents
without a topic. `CredalClusterer` assigns them, and a requested share has no topic.
"""

import inspect
import warnings

import numpy as np
from bertopic import BERTopic
from hdbscan import HDBSCAN
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.discovery import all_estimators, all_functions

from evlearn.cluster import CredalClusterer

warnings.simplefilter("ignore")
objects = dict([*all_estimators(), *all_functions()])
texts = [inspect.getdoc(thing) or "" for thing in objects.values()]
modules = np.array([thing.__module__.split(".")[1] for thing in objects.values()])
terms = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True)
embeddings = make_pipeline(
    terms, TruncatedSVD(50, random_state=0), Normalizer()
).fit_transform(texts)


def fit(clusterer):
    topics = BERTopic(
        embedding_model=None,
        umap_model=PCA(10, random_state=0),
        hdbscan_model=clusterer,
        vectorizer_model=CountVectorizer(stop_words="english"),
        calculate_probabilities=True,
    )
    topics.fit(texts, embeddings)
    return topics


def describe(name, labels):
    """Print the share of texts without a topic, and that of others in a topic of mostly their module."""
    labels = np.array(labels)
    right = [
        np.unique(modules[labels == k], return_counts=True)[1].max()
        for k in set(labels[labels >= 0])
    ]
    n_topics, n_labeled = len(right), (labels >= 0).sum()
    print(
        f"{name}: {n_topics} topics, {np.mean(labels < 0):.0%} without a topic, "
        f"{sum(right) / n_labeled:.0%} in their module"
    )


# %%
# Our clusterer in BERTopic. The probabilities have a row for each text and a column for each topic.
clusterer = HDBSCAN(min_cluster_size=8)
topics = fit(CredalClusterer(clusterer, outlier_share=0.05))
print(topics.probabilities_.shape[1], "columns")
describe("HDBSCAN", topics.hdbscan_model.clusterer_.labels_)
describe("CredalClusterer(HDBSCAN)", topics.topics_)

# %%
# Output:
#
# .. code-block:: text
#
#    14 columns
#    HDBSCAN: 14 topics, 39% without a topic, 74% in their module
#    CredalClusterer(HDBSCAN): 14 topics, 5% without a topic, 61% in their module
#
# Our doubt after the fit of an ordinary BERTopic, from its topics and reduced embeddings:
ordinary = fit(HDBSCAN(min_cluster_size=8, prediction_data=True))
reduced = ordinary.umap_model.transform(embeddings)
model = CredalClusterer(ordinary.topics_, outlier_share=0.05).fit(reduced)
describe("after the fit", model.labels_)
verdict = model.credal_partition_.verdict()
noise = np.array(ordinary.topics_) == -1
print(f"noise: {verdict.sure[noise].sum()} sure, {verdict.torn[noise].sum()} torn")

# %%
# Output:
#
# .. code-block:: text
#
#    after the fit: 14 topics, 5% without a topic, 61% in their module
#    noise: 76 sure, 108 torn
#
# The strategies of BERTopic for the same texts, which assign all of them:
describe("CredalClusterer", CredalClusterer(ordinary.topics_).fit(reduced).labels_)
for strategy in ("probabilities", "distributions", "c-tf-idf", "embeddings"):
    new = ordinary.reduce_outliers(
        texts,
        ordinary.topics_,
        strategy=strategy,
        probabilities=ordinary.probabilities_,
        embeddings=embeddings,
    )
    describe(strategy, new)

# %%
# Output:
#
# .. code-block:: text
#
#    CredalClusterer: 14 topics, 0% without a topic, 60% in their module
#    probabilities: 14 topics, 0% without a topic, 59% in their module
#    distributions: 14 topics, 0% without a topic, 57% in their module
#    c-tf-idf: 14 topics, 0% without a topic, 58% in their module
#    embeddings: 14 topics, 0% without a topic, 60% in their module
#
# "In their module" is the share of texts with a topic whose most frequent module is theirs. It is lower after noise is
# assigned, because the texts of noise belong to no topic clearly. A text without a topic counts neither as right nor as
# wrong.
