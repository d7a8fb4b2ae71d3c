"""Case studies on real data: a question, the costs of errors and reviews, and the decisions of each method."""
