"""Our clusterers in BERTopic, and our doubt after its fit."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer

from evlearn.cluster import CCM, ECM, CredalClusterer, EKNNClus

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]
N_TOPICS = 5


@pytest.fixture(scope="module")
def texts():
    """Return texts, embeddings and the topic of each text; topics have different words and sizes."""
    random = np.random.default_rng(0)
    topics = random.choice(N_TOPICS, 500, p=[0.1, 0.3, 0.2, 0.25, 0.15])
    words = [[f"word{topic}x{number}" for number in range(20)] for topic in range(N_TOPICS)]
    embeddings = 1.5 * random.normal(size=(N_TOPICS, 16))[topics] + random.normal(size=(500, 16))
    return [" ".join(random.choice(words[topic], 8)) for topic in topics], embeddings.astype(np.float32), topics


def fit(texts, clusterer):
    bertopic = pytest.importorskip("bertopic", reason="bertopic is not installed")
    model = bertopic.BERTopic(
        embedding_model=None,
        umap_model=PCA(5, random_state=0),
        hdbscan_model=clusterer,
        calculate_probabilities=True,
        vectorizer_model=CountVectorizer(),
    )
    topics, probabilities = model.fit_transform(*texts[:2])
    return model, np.array(topics), probabilities


@pytest.mark.parametrize(
    "clusterer", [CCM(N_TOPICS, random_state=0), ECM(N_TOPICS, random_state=0), EKNNClus(random_state=0)]
)
def test_clusterers_find_topics_with_probabilities(texts, clusterer):
    model, topics, probabilities = fit(texts, clusterer)
    assert probabilities.shape == (500, topics.max() + 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), topics)
    assert {len(set(texts[2][topics == topic])) for topic in (1, 2)} <= {1, 2, 3}
    new, _ = model.transform(texts[0][:20], texts[1][:20])
    np.testing.assert_array_equal(new, topics[:20])


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("clusterer", [KMeans(N_TOPICS, n_init=2, random_state=0), CCM(N_TOPICS, random_state=0)])
def test_a_requested_share_of_documents_has_no_topic(texts, clusterer, share):
    _, topics, probabilities = fit(texts, CredalClusterer(clusterer, outlier_share=share))
    assert (topics == -1).mean() == pytest.approx(share, abs=0.01)
    assert probabilities.shape == (500, N_TOPICS)
    has_topic = topics >= 0
    np.testing.assert_array_equal(probabilities.argmax(axis=1)[has_topic], topics[has_topic])


def test_doubt_is_computed_after_the_fit(texts):
    hdbscan = pytest.importorskip("hdbscan", reason="hdbscan is not installed")
    model, topics, _ = fit(texts, hdbscan.HDBSCAN(min_cluster_size=12, prediction_data=True))
    assert (topics == -1).mean() > 0.1
    reduced = model.umap_model.transform(texts[1])
    doubt = CredalClusterer(model.topics_, outlier_share=0.05).fit(reduced)
    assert (doubt.labels_ == -1).mean() == pytest.approx(0.05, abs=0.01)
    assert doubt.probabilities_.shape == (500, topics.max() + 1)
    has_label = (topics >= 0) & (doubt.labels_ >= 0)
    np.testing.assert_array_equal(doubt.labels_[has_label], topics[has_label])
    model.update_topics(texts[0], topics=doubt.labels_.tolist(), vectorizer_model=CountVectorizer())
    counts = model.get_topic_info().set_index("Topic")["Count"]
    assert counts[-1] == (doubt.labels_ == -1).sum()
