-- Names the validation examples of one evaluation together with all that decides what a loss on them is: the validation text,
-- which of its examples, how long they are and which tokens are labelled; beside it how many examples that are, and how many
-- the validation set has. Null for runs made before these were kept, and for those that never started.
ALTER TABLE runs ADD COLUMN evaluated_hash TEXT;
ALTER TABLE runs ADD COLUMN evaluated_examples INTEGER;
ALTER TABLE runs ADD COLUMN validation_examples INTEGER;
