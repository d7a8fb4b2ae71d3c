"""Results that are known to be older than the code they measure, with the reason; see `benchmarks.stale`.

Tests fail if a result that is not listed is older than its sources, or if a listed result is current. Add a name
with its reason when a change of the code makes a result older, and remove it after a new run of its command.
"""

CPU = "not repeated yet: a run takes minutes or hours of CPU"
PEERS = "a run needs R, torch or other packages in a separate environment"
DISK = "a run needs gigabytes of memory or disk, or a machine without other programs"
SPEED = "measured before changes that made fits faster with identical masses"
ON_PURPOSE = "measured with an earlier version on purpose, for a comparison of before and after"

_GROUPS = {
    CPU: """
        answers answers_classifier_defaults answers_coverage answers_robust embeddings_job fuzz_files mutants
        planted_faults robustness unclean_embeddings
    """,
    PEERS: """
        peers_active peers_ecm_fit peers_eknn peers_nn_constraints peers_nn_evclus peers_side_by_side
    """,
    DISK: """
        scale_bootclus scale_clusters scale_costs scale_ecm_iteration scale_eknnclus scale_embeddings
        scale_engine scale_engines scale_ensemble scale_epochs scale_evclus scale_forecast scale_kills
        scale_many_embeddings scale_one_call scale_one_row scale_service scale_sizes scale_small scale_starts
        scale_very_many_clusters
    """,
    SPEED: """
        tracking_embeddings
    """,
    ON_PURPOSE: """
        unclean_before unclean_before_embeddings
    """,
}
#: Reason for each result.
OLDER = {name: reason for reason, names in _GROUPS.items() for name in names.split()}
