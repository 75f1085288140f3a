import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("A database that refuses commits") struct CommitFaultTests {
    /// Every change of a row succeeds, and fails at the commit.
    private static let refuse = """
        create function public.refuse() returns trigger language plpgsql as $$
        begin
            raise exception 'refused at commit' using errcode = 'check_violation';
        end
        $$;
        do $$
        declare
            target regclass;
        begin
            for target in
                select oid from pg_class
                where relnamespace = 'errand'::regnamespace and relkind in ('r', 'p') and not relispartition
            loop
                execute format(
                    'create constraint trigger refuse after insert or update or delete on %s '
                    'deferrable initially deferred for each row execute function public.refuse()', target);
            end loop;
        end
        $$;
        """

    /// What is there for the commands to change.
    private static let prepare = """
        select errand.enqueue('noop') from generate_series(1, 3);
        select errand.enqueue('noop', run_at => now() + interval '1 hour');
        select errand.pause_queue('paused', 'test', force => true);
        select errand.pause_kind('paused', 'test', force => true);
        select errand.set_limit('shop', 1);
        select errand.put_schedule('nightly', '0 3 * * *', 'noop');
        select errand.put_schedule('paused', '0 3 * * *', 'noop');
        select errand.pause_schedule('paused', 'test');
        select errand.circuit_open('storage', 'test', now() + interval '1 hour');
        select errand.cancel('{3}', 'test');
        insert into errand.worker (name, version, queues, kinds, lease)
        values ('host:1', '0.1', '{default}', '{noop}', interval '1 hour'),
            ('host:2', '0.1', '{default}', '{noop}', interval '1 hour');
        select errand.drain_worker(2, 'test');
        """

    private static let commands = [
        "enqueue noop {}", "enqueue noop {} --unique once", "enqueue noop {} --in 10m", "job retry 3",
        "job cancel 1 --reason test", "job edit 1 {} --reason test",
        "job cancel --kind noop --reason test --no-dry-run",
        "job reschedule --kind noop --at 1h --reason test --no-dry-run", "bulk cancel --kind noop --reason test",
        "limit set shop 2", "limit clear shop", "queue pause default --reason test", "queue resume paused",
        "worker drain 1 --reason test", "worker undrain 2", "circuit open mail --reason test --unused",
        "circuit close storage", "schedule put daily 0_4_*_*_* noop", "schedule run nightly --reason test",
        "schedule pause nightly --reason test", "schedule resume paused", "schedule drop nightly",
    ]

    @Test("each command that changes something fails, says why, and has changed nothing")
    func commands() async throws {
        try await withTestDatabase { database, configuration in
            try await database.withConnection { try await $0.script(Self.prepare) }
            try await database.withConnection { try await $0.script(Self.refuse) }
            let settings = try reaching(configuration)
            let all = """
                select md5(string_agg(query_to_xml(format('select * from errand.%I', relname), true, true, '')::text, ''
                    order by relname))
                from pg_class
                where relnamespace = 'errand'::regnamespace and relkind = 'r'
                """
            let before = try await database.query(Statement(all)).scalar(String.self)
            for command in Self.commands {
                let arguments = command.split(separator: " ").map { String($0.replacing("_", with: " ")) }
                let program = try await Program.run(arguments, settings: settings)
                #expect(program.code == 1, "\(command)")
                #expect(program.error.contains("refused at commit"), "\(command): \(program.errors)")
                #expect(program.output == "", "\(command)")
            }
            #expect(try await database.query(Statement(all)).scalar(String.self) == before)
        }
    }
}
