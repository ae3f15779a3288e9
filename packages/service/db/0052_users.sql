-- People who sign in: of a customer, or of the house.

create table service_user (
  id            text not null,
  customer_id   text,                                  -- null: of the house
  name          text not null,
  role          text not null,
  sign_in_name  text,                                  -- null: has not joined, or came by a link
  invited_at    timestamptz not null,
  invited_by    text not null,                         -- a user, a key, or what an operator typed
  joined_at     timestamptz,
  ended_at      timestamptz,
  constraint service_user_pkey primary key (id),
  constraint service_user_of_customer foreign key (customer_id) references customer (id),
  constraint service_user_name_length check (char_length(name) between 1 and 100),
  constraint service_user_role_known check (role = any (case when customer_id is null
    then array['auditor', 'operator', 'admin']
    else array['owner', 'developer', 'finance', 'reader'] end)),
  constraint service_user_sign_in_name_form check (sign_in_name ~ '^[a-z0-9._@+-]{3,64}$'),
  constraint service_user_sign_in_name_once unique (sign_in_name)
);
create index service_user_of_customer on service_user (customer_id, id);

-- A customer's user has a key of the same id, which signs nothing: where a key is named (orders,
-- what was spent of a daily cap, webhooks, keys that it made), a user can be.
alter table api_key alter column token_hash drop not null;
alter table api_key alter column sealed_secret drop not null;
alter table api_key add column user_id text;
alter table api_key add constraint api_key_of_user foreign key (user_id)
  references service_user (id);
alter table api_key add constraint api_key_signs_or_is_users check (case when user_id is null
  then num_nulls(token_hash, sealed_secret) = 0
  else user_id = id and num_nonnulls(token_hash, sealed_secret, old_sealed_secret) = 0 end);

-- Links that work once: the token is in none of our rows.
create table user_link (
  token_hash  text not null,
  user_id     text not null,
  purpose     text not null,
  made_at     timestamptz not null,
  ends_at     timestamptz not null,
  used_at     timestamptz,
  constraint user_link_pkey primary key (token_hash),
  constraint user_link_user foreign key (user_id) references service_user (id),
  constraint user_link_purpose_known check (purpose in ('join', 'sign_in')),
  constraint user_link_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$')
);
create index user_link_of_user on user_link (user_id);

create table user_session (
  id               text not null,
  token_hash       text not null,
  user_id          text not null,
  made_at          timestamptz not null,
  used_at          timestamptz not null,               -- to the minute
  ends_at          timestamptz not null,
  stepped_up_until timestamptz,
  ip               text not null,
  browser          text not null,
  ended_at         timestamptz,
  constraint user_session_pkey primary key (id),
  constraint user_session_token_once unique (token_hash),
  constraint user_session_user foreign key (user_id) references service_user (id),
  constraint user_session_token_hash_form check (token_hash ~ '^[0-9a-f]{64}$')
);
create index user_session_of_user on user_session (user_id, id);

-- What users prove themselves with.
create table user_password (
  user_id      text not null,
  hash         text not null,                          -- with its parameters
  sealed_totp  text not null,                          -- there is no password without codes
  totp_step    bigint not null,                        -- the 30 seconds whose code was used last
  changed_at   timestamptz not null,
  constraint user_password_pkey primary key (user_id),
  constraint user_password_user foreign key (user_id) references service_user (id)
);

create table passkey (
  id          text not null,                           -- base64url, made by the authenticator
  user_id     text not null,
  name        text not null,
  public_key  bytea not null,                          -- COSE
  counter     bigint not null,
  transports  text[] not null,
  made_at     timestamptz not null,
  used_at     timestamptz,
  off_at      timestamptz,                             -- its counter went back
  constraint passkey_pkey primary key (id),
  constraint passkey_user foreign key (user_id) references service_user (id),
  constraint passkey_name_length check (char_length(name) between 1 and 100)
);
create index passkey_of_user on passkey (user_id);

create table recovery_code (
  code_hash  text not null,
  user_id    text not null,
  used_at    timestamptz,
  constraint recovery_code_pkey primary key (user_id, code_hash),
  constraint recovery_code_user foreign key (user_id) references service_user (id)
);

-- Challenges that were answered, until they would be too old.
create table answered_challenge (
  challenge_hash  text not null,
  ends_at         timestamptz not null,
  constraint answered_challenge_pkey primary key (challenge_hash)
);
create index answered_challenge_by_end on answered_challenge (ends_at);

-- Who tried to sign in. What was typed as a name is kept as its sum: some type a password there.
create table sign_in (
  id         text not null,
  at         timestamptz not null,
  face       text not null,
  way        text not null,
  outcome    text not null,
  name_hash  text,
  user_id    text,
  session_id text,
  network    text not null,
  ip         text not null,
  browser    text not null,
  constraint sign_in_pkey primary key (id),
  constraint sign_in_face_known check (face in ('portal', 'console')),
  constraint sign_in_way_known check (way in ('link', 'join', 'passkey', 'password', 'recovery',
    'step_up', 'end')),
  constraint sign_in_outcome_known check (outcome in ('trying', 'done', 'failed', 'too_soon'))
);
create index sign_in_of_name on sign_in (name_hash, at) where (name_hash is not null);
create index sign_in_of_network on sign_in (network, at) where (outcome <> 'done');
create index sign_in_by_age on sign_in (at);

-- What a customer's users and keys have changed. Numbered and chained for each customer, as the
-- record of operators is: a row that is changed, taken out or put in later shows.
create table customer_action (
  customer_id  text not null,
  number       bigint not null,                        -- given by the trigger: 1, 2, 3, …
  made_at      timestamptz not null,
  made_by      text not null,                          -- 'user:…' or 'key:…'
  action       text not null,                          -- the endpoint: 'key/new'
  subject      text not null,
  before       jsonb,
  after        jsonb,
  ip           text,
  sha256       text not null,
  constraint customer_action_pkey primary key (customer_id, number),
  constraint customer_action_of_customer foreign key (customer_id) references customer (id)
);

create function customer_action_sum(previous text, of customer_action)
  returns text language sql stable as $$
  select encode(sha256(convert_to(previous || jsonb_build_array(of.customer_id, of.number,
    extract(epoch from of.made_at), of.made_by, of.action, of.subject, of.before, of.after,
    of.ip)::text, 'UTF8')), 'hex')
$$;

-- One record of a customer after the other takes the next number.
create function chain_customer_action() returns trigger language plpgsql as $$
declare
  previous customer_action;
begin
  perform pg_advisory_xact_lock(720461509, hashtext(new.customer_id));
  select * into previous from customer_action where customer_id = new.customer_id
    order by number desc limit 1;
  new.number := coalesce(previous.number, 0) + 1;
  new.sha256 := customer_action_sum(coalesce(previous.sha256, ''), new);
  return new;
end $$;

create trigger customer_action_is_chained before insert on customer_action
  for each row execute function chain_customer_action();
create trigger customer_action_is_append_only before update or delete on customer_action
  for each row execute function refuse_change();
create trigger customer_action_is_not_truncated before truncate on customer_action
  for each statement execute function refuse_change();
revoke update, delete, truncate on customer_action from public, current_user;

-- A program that is to act for a customer asks, and a user approves it.
create table pairing (
  id           text not null,
  code_hash    text not null,
  poll_hash    text not null,
  name         text not null,
  ip           text not null,
  made_at      timestamptz not null,
  ends_at      timestamptz not null,
  sealed_key   text,                                   -- token and secret, until they are taken
  taken_at     timestamptz,
  refused_at   timestamptz,
  constraint pairing_pkey primary key (id),
  constraint pairing_poll_once unique (poll_hash),
  constraint pairing_name_length check (char_length(name) between 1 and 100)
);
create index pairing_of_code on pairing (code_hash);
create index pairing_by_end on pairing (ends_at);
