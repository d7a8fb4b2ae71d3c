"""Case studies on real data: a question, what an error and a look cost, and what each method decides."""
