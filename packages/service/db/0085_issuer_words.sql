-- kind: expand
-- What tokens' contracts said when they were asked whether they have frozen an address: the log
-- knows that only from its first block on. Rows are added, never changed: evidence names them.
create table issuer_word (
  address   text not null,
  token     text not null,
  asked_at  timestamptz not null,
  said      text not null,
  nodes     smallint not null,                     -- so many nodes were asked
  error     text,                                  -- why nothing is known
  constraint issuer_word_pkey primary key (address, token, asked_at),
  constraint issuer_word_said check (said in ('frozen', 'not_frozen', 'no_list', 'not_asked')),
  constraint issuer_word_error check ((error is not null) = (said = 'not_asked'))
);
create index issuer_word_not_asked on issuer_word (asked_at) where (said = 'not_asked');
create index issuer_word_asked on issuer_word (token, asked_at) where (said <> 'not_asked');

create trigger issuer_word_is_append_only before update or delete on issuer_word
  for each row execute function refuse_change();

grant select on issuer_word to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on issuer_word to penstock_api, penstock_worker;
