-- The contents of a block are written once and read whole by each reader, and no statement looks into them. As text that is
-- not compressed (it is mostly hashes) they take half the time to write.
alter table block alter column contents type json using contents::json;
alter table block alter column contents set storage external;
