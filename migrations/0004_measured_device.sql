-- What a benchmark was measured on, where that is a GPU: its name, and the version of its driver.
ALTER TABLE benchmarks ADD COLUMN device_name TEXT;
ALTER TABLE benchmarks ADD COLUMN driver TEXT;
