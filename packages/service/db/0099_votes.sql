-- kind: contract
-- What the wallets of the pool vote for with their stake, and what that earns them.

-- Whom to vote for: each witness gets its share of every wallet's votes.
create table vote_plan (
  witness text not null,
  weight  integer not null,
  set_at  timestamptz not null,
  set_by  text not null,
  constraint vote_plan_pkey primary key (witness),
  constraint vote_plan_weight check (weight between 1 and 1000000)
);

-- One vote of a wallet: casting -> cast | failed. `period_ends_at`: the maintenance that counts it.
create table vote (
  id             text not null,
  wallet         text not null,
  votes          jsonb not null,                   -- [{"witness", "count"}]
  power          bigint not null,                  -- of its stake, when it was made
  period_ends_at timestamptz not null,
  state          text not null default 'casting',
  attempt_id     text not null,
  made_at        timestamptz not null,
  ended_at       timestamptz,
  constraint vote_pkey primary key (id),
  constraint vote_of_attempt foreign key (attempt_id) references attempt (id),
  constraint vote_state check (state in ('casting', 'cast', 'failed')),
  constraint vote_end check ((state = 'casting') = (ended_at is null)),
  constraint vote_power check (power > 0)
);
create unique index vote_one_casting on vote (wallet) where state = 'casting';
create unique index vote_once_a_period on vote (wallet, period_ends_at) where state <> 'failed';
create index vote_of_wallet on vote (wallet, made_at);
create index vote_attempt on vote (attempt_id);

-- One withdrawal of what votes have earned: claiming -> claimed | failed.
create table reward_claim (
  id           text not null,
  wallet       text not null,
  expected_sun bigint not null,                    -- as a node said when it was made
  state        text not null default 'claiming',
  attempt_id   text not null,
  reward_sun   bigint,                             -- as its receipt has it
  made_at      timestamptz not null,
  ended_at     timestamptz,
  constraint reward_claim_pkey primary key (id),
  constraint reward_claim_of_attempt foreign key (attempt_id) references attempt (id),
  constraint reward_claim_state check (state in ('claiming', 'claimed', 'failed')),
  constraint reward_claim_end check (
    (state = 'claiming') = (ended_at is null) and (state = 'claimed') = (reward_sun is not null)
    and coalesce(reward_sun, 1) > 0)
);
create unique index reward_claim_one_claiming on reward_claim (wallet) where state = 'claiming';
create index reward_claim_of_wallet on reward_claim (wallet, made_at);
create index reward_claim_attempt on reward_claim (attempt_id);

insert into account (id, may_go_negative) values ('treasury:wallets', true), ('income:votes', true);

grant select on vote_plan, vote, reward_claim
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update, delete on vote_plan to penstock_admin;
grant insert on vote, reward_claim to penstock_worker;
grant update (state, ended_at) on vote to penstock_worker;
grant update (state, reward_sun, ended_at) on reward_claim to penstock_worker;
