-- kind: expand
-- Lists of the operator's own, what an allow entry has seen, and the nightly reading as it was
-- kept.

-- By which reader a list is read; of tables, where each field is found if not under its own name
-- (`{"address": "wallet"}`); and what all entries are where the file does not say it.
alter table list
  add column reader   text,
  add column columns  jsonb,
  add column category text,
  add column made_by  text;                        -- null: it came with the program
update list set reader = case code
  when 'ofac_sdn' then 'ofac' when 'nbctf' then 'orders' when 'tagpacks' then 'tagpack'
  when 'operator' then 'table' else code end;
alter table list alter column reader set not null;

-- The severe part of an address when an allow entry about it was first used: when it has grown
-- since, the answer waits for a person again. Null: not used yet.
alter table aml_entry
  add column seen_severe_bp integer,
  add column seen_severe_usd bigint;
grant update (seen_severe_bp, seen_severe_usd) on aml_entry to penstock_worker;

-- The nightly reading as the first process that was through with it has it: others take it up.
alter table flow_sent add column read_at timestamptz;
update flow_sent set read_at = begun_at;
create table flow_sent_part (
  number integer not null,
  part   integer not null,
  bytes  bytea not null,
  constraint flow_sent_part_pkey primary key (number, part),
  constraint flow_sent_part_of_reading foreign key (number) references flow_sent (number)
);
grant select on flow_sent_part to penstock_api, penstock_worker, penstock_admin;
grant insert, delete on flow_sent_part to penstock_worker;
grant update (read_at) on flow_sent to penstock_worker;
