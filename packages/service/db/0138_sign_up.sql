-- kind: expand
-- People who make an account themselves, where the operator allows it: whose e-mail was given, the
-- letter that goes there, and the customer that came of it. The API notes who asks, and later makes
-- the user; a worker sends the letter and opens the customer. The token of the letter is kept as
-- its hash, and sealed until the letter is sent.
create table sign_up (
  id            text        not null,
  email         text        not null,
  language      text        not null,                  -- of the letter
  network       text        not null,                  -- what counts as one caller
  made_at       timestamptz not null,
  ends_at       timestamptz not null,                  -- the letter is worth nothing from then on
  state         text        not null default 'asked',
  token_hash    text        not null,
  sealed_token  text,
  due_at        timestamptz not null,                  -- the next try to send
  tries         integer     not null default 0,
  last_fault    text,                                  -- why the last one failed
  sent_at       timestamptz,
  name          text,                                  -- what the customer is to be called
  customer_id   text,
  user_id       text,
  constraint sign_up_pkey primary key (id),
  constraint sign_up_of_customer foreign key (customer_id) references customer (id),
  constraint sign_up_of_user foreign key (user_id) references service_user (id),
  constraint sign_up_state_known check (
    state in ('asked', 'sent', 'refused', 'confirmed', 'opened')),
  constraint sign_up_language_known check (language in ('en', 'ru', 'zh')),
  constraint sign_up_email_length check (char_length(email) between 3 and 254),
  constraint sign_up_name_length check (char_length(name) between 1 and 200),
  constraint sign_up_token_until_sent check (state = 'asked' or sealed_token is null),
  constraint sign_up_named check ((state in ('confirmed', 'opened')) = (name is not null)),
  constraint sign_up_opened_whole check (
    (state = 'opened') = (customer_id is not null) and (user_id is null or state = 'opened'))
);
create unique index sign_up_token_once on sign_up (token_hash);
create unique index sign_up_of_customer_once on sign_up (customer_id);
create index sign_up_of_user_id on sign_up (user_id);
create index sign_up_of_email on sign_up (lower(email), id);
create index sign_up_to_send on sign_up (due_at) where state = 'asked' and sealed_token is not null;
create index sign_up_to_open on sign_up (id) where state = 'confirmed';
create index sign_up_to_prune on sign_up (ends_at) where state <> 'opened';

grant select, insert, update (state, sealed_token, name, user_id) on sign_up to penstock_api;
grant select, update (state, sealed_token, due_at, tries, last_fault, sent_at, customer_id), delete
  on sign_up to penstock_worker;
grant select, delete on sign_up to penstock_admin;
revoke select on sign_up from penstock_read;
grant select (id, language, made_at, ends_at, state, due_at, tries, sent_at, customer_id, user_id)
  on sign_up to penstock_read;

-- A worker opens the customer: with an account that cannot be overdrawn, and nothing on it.
alter table account alter may_go_negative set default false;
grant insert (id, name, created_at, deposit_index, deposit_address) on customer to penstock_worker;
grant usage on sequence customer_deposit_index to penstock_worker;
grant insert (id) on account to penstock_worker;
