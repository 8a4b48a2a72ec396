"""The TSFM server: forecasting, fine-tuning and anomaly detection on files of readings."""
