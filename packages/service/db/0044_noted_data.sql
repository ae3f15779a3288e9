-- What is told of an event is printed in the transaction that makes it true, so a note always has
-- it. Of one that an older version has left without, its readers learn that it happened, and ask
-- for its subject.
update event_note set data = 'null' where data is null;
alter table event_note alter column data set not null;
alter table event_note drop column detail;
