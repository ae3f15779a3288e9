-- Settings that allow what is refused otherwise, as the processes that run with them say every minute: `status` warns of
-- them for as long as one does.
create table loosened_setting (
  name        text not null,                       -- 'PENSTOCK_ALLOW_HTTP_NODES'
  seen_at     timestamptz not null,
  constraint loosened_setting_pkey primary key (name)
);
