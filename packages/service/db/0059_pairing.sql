-- kind: expand
-- Programs ask for keys: from where, what for; and who has approved it, for which key. No row was
-- ever written before.

alter table pairing
  add column network      text not null,               -- what counts as one caller
  add column scopes       text[],                      -- asked for; null: the program did not say
  add column approved_at  timestamptz,
  add column customer_id  text,
  add column key_id       text,
  add constraint pairing_of_customer foreign key (customer_id) references customer (id),
  add constraint pairing_key foreign key (key_id) references api_key (id),
  add constraint pairing_one_answer check (approved_at is null or refused_at is null),
  add constraint pairing_approved_whole check (
    num_nulls(approved_at, customer_id, key_id) in (0, 3)),
  add constraint pairing_key_until_taken check (case when approved_at is null
    then sealed_key is null and taken_at is null
    else (sealed_key is null) = (taken_at is not null) end);
drop index pairing_of_code;
create unique index pairing_code_once on pairing (code_hash);
create index pairing_of_network on pairing (network, ends_at);

grant insert, update, delete on pairing to penstock_api;
revoke select on pairing from penstock_read;
grant select (id, name, ip, network, scopes, made_at, ends_at, approved_at, customer_id, key_id,
  taken_at, refused_at) on pairing to penstock_read;
