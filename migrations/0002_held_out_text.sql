-- Names the held-out text together with the tokenizer that cut it: losses of runs are judged against each other only
-- where it is the same. Null for runs made before it was kept, and for those that never started.
ALTER TABLE runs ADD COLUMN held_out_hash TEXT;
