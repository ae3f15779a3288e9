-- What customers' calls were refused for: written beside the calls, in batches, and not all of it
-- when there is too much. Kept for a week.
create table refusal (
  id              bigint generated always as identity,
  customer_id     text not null,
  key_id          text not null,
  at              timestamptz not null,
  path            text not null,
  code            integer not null,
  key             text not null,
  request_id      text not null,
  ip              text not null,
  ms              integer not null,
  body            text,                    -- its beginning, where the body may be what is wrong
  hashed_bytes    integer,                 -- of a wrong signature: what the right one would sign
  body_sha256     text,
  right_for       text,                    -- which other body the signature is right for
  constraint refusal_pkey primary key (id),
  constraint refusal_body_length check (length(body) <= 1024),
  constraint refusal_hint_whole check ((hashed_bytes is null) = (body_sha256 is null)),
  constraint refusal_right_for
    check (right_for in ('empty', '{}', 'no_final_newline', 'reprinted'))
);
create index refusal_of_customer on refusal (customer_id, at desc, id desc);
create index refusal_of_customer_by_code on refusal (customer_id, code, at desc, id desc);
create index refusal_by_time on refusal (at);

-- How many of a day (UTC) are kept, and how many were left out.
create table refusal_day (
  customer_id     text not null,
  day             date not null,
  kept            integer not null,
  left_out        integer not null,
  constraint refusal_day_pkey primary key (customer_id, day)
);
