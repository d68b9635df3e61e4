"""The measured process: builds, warms up, proves what is in force and that the model trained."""
