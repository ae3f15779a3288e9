-- The chain as this service has seen it, and what it has sent there.

-- How far the blocks have been followed: one row, made when the first block is stored. Times are those of the blocks.
create table chain (
  one           boolean not null default true,
  head_number   bigint not null,
  head_id       text not null,
  head_time     timestamptz not null,
  solid_number  bigint not null,
  behind        integer not null default 0,        -- blocks that the node had and we had not, when it last answered
  seen_at       timestamptz not null,              -- when a node last answered, by our clock
  constraint chain_pkey primary key (one),
  constraint chain_has_one_row check (one),
  constraint chain_solid_not_above_head check (solid_number <= head_number)
);

-- Blocks on the branch that is followed, and in short what readers need of them: transfers of TRX and of known tokens,
-- changes of freeze lists, who used energy (`Contents` in chain/blocks.ts). Rows that every cursor has passed are pruned.
create table block (
  number        bigint not null,
  id            text not null,
  parent_id     text not null,
  time          timestamptz not null,
  contents      jsonb not null,
  constraint block_pkey primary key (number)
);

-- Readers of blocks: each has its own place and never moves past what is solid (or, where it says so, past the head).
create table cursor (
  name          text not null,
  number        bigint not null,                   -- the last block read
  constraint cursor_pkey primary key (name)
);

-- One transaction of ours. Its states:
--
--   new -> signed -> sent -> included -> solid
--     \       \        \ <----/ (a fork took the block back)
--      `-------`--------`-> dead
--
-- It is dead when a solid block is too late for it and no solid block has it, or when it could not be signed for minutes.
-- Only then may its subject have another.
create table attempt (
  id            text not null,
  subject       text not null,                     -- what it is for: 'delegate:…', 'reclaim:…', 'activate:…'
  contract      jsonb not null,                    -- the operation, as the node's JSON; 64-bit integers as text
  state         text not null default 'new',
  tx_id         text,
  signed        bytea,                             -- the whole signed transaction: the only bytes that are ever sent
  expires_at    timestamptz,                       -- on the chain's clock
  send_at       timestamptz not null,              -- when it is to be sent (again), on our clock
  sends         integer not null default 0,
  answer        text,                              -- what a node last said: a hint, never a judgement
  block_number  bigint,
  block_time    timestamptz,
  made_at       timestamptz not null,
  sent_at       timestamptz,                       -- when it was first sent
  constraint attempt_pkey primary key (id),
  constraint attempt_state check (state in ('new', 'signed', 'sent', 'included', 'solid', 'dead')),
  constraint attempt_tx_id_unique unique (tx_id),
  constraint attempt_signed_has_bytes check (
    (tx_id is null) = (signed is null) and (tx_id is null) = (expires_at is null)
    and (state <> 'new' or tx_id is null) and (state in ('new', 'dead') or tx_id is not null)),
  constraint attempt_in_a_block check
    ((state in ('included', 'solid')) = (block_number is not null) and (block_number is null) = (block_time is null))
);

create unique index attempt_one_alive on attempt (subject) where state <> 'dead';
create index attempt_to_sign on attempt (send_at) where state = 'new';
create index attempt_to_send on attempt (send_at) where state in ('signed', 'sent');
create index attempt_dead on attempt (id) where state = 'dead';
create index attempt_not_solid on attempt (block_number) where state = 'included';
