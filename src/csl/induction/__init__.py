"""Grammar induction (paper, "Grammar Induction Algorithm" and its appendix)."""
