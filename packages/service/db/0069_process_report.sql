-- kind: expand
-- What a process says of itself beside that it is there: how its requests to nodes went, which
-- providers it leaves alone, what its flow index holds, for how long it keeps what. With each beat
-- or after a few, by the same statement.
alter table process add column report jsonb not null default '{}';

-- Why a provider did not answer, in its words; null where it did.
alter table aml_answer add column error text;
grant select (error) on aml_answer to penstock_read;

-- The newest answer of each outcome, and those of an hour or a day, are found without the others.
create index aml_answer_of_provider on aml_answer (provider, outcome, received_at);
