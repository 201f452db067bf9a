"""NQG (Shaw et al. 2021), the predecessor of CSL: grammar induction by code length, and a discriminative parser."""
