-- Version of the arithmetic that decides the bits of a run's losses (engine/CHANGELOG.md): a run goes on by the rule by which it began.
-- Null stands for 1, the version of runs made before it was stored.
ALTER TABLE runs ADD COLUMN numerics INTEGER;
