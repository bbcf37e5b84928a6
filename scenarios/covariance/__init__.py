"""Linear covariance of missions: sigmas, error budgets, requirements and what to improve first."""
