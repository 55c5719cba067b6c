import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import {
  checkLoad,
  checkReset,
  type Instance,
  startInstances,
  startLoad,
} from "../../process/instance-group.ts";
import { TOKEN } from "../../process/mooring.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { startPgbouncer } from "../../store/postgres/pgbouncer.ts";
import { postgresOfTest, postgresProgram, standbyOfTest } from "../../store/postgres/server.ts";
import { openSwitch } from "../../store/postgres/switch.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const hasPostgres = needs(postgresProgram("postgres"));
beforeEach((context) => hasPostgres(context));

const LONG = { timeout: 180_000 };

test(
  "three instances under load lose nothing when a synchronous standby takes over from the primary",
  LONG,
  async () => {
    const { primary, standby } = await standbyOfTest();
    await primary.query("alter system set synchronous_standby_names = '*'");
    await primary.query("select pg_reload_conf()");
    const waited = () => primary.query("select from pg_stat_replication where sync_state = 'sync'");
    await expect.poll(waited).toHaveLength(1);
    const address = await openSwitch(primary.port);
    const load = await startLoad(`postgres://mooring@127.0.0.1:${address.port}/postgres`);
    await primary.kill("SIGKILL");
    await standby.promote();
    address.to(standby.port);
    await load.savers.more(300);
    await checkLoad({ ...load, url: standby.url() });
    for (const instance of load.instances)
      expect(instance.log().map(({ msg }) => msg)).toContainEqual(
        expect.stringMatching(/^a standby has replaced/),
      );
  },
);

describe("behind a pooler in transaction mode", () => {
  const hasPooler = needs("pgbouncer");
  beforeEach((context) => hasPooler(context));

  test(
    "three instances under load lose nothing, also when the pooler is restarted",
    LONG,
    async () => {
      const server = await postgresOfTest();
      const pooler = await startPgbouncer(server, "postgres");
      const address = await openSwitch(Number(new URL(pooler.url).port));
      const url = `postgres://mooring@127.0.0.1:${address.port}/postgres`;
      const load = await startLoad(url);
      await load.savers.more(300);
      await pooler.stop();
      const next = await startPgbouncer(server, "postgres");
      onTestFinished(next.stop);
      address.to(Number(new URL(next.url).port));
      await load.savers.more(300);
      await checkLoad({ ...load, url: server.url() });
    },
  );

  test("after the reply of a reset no instance accepts the old token", LONG, async () => {
    const server = await postgresOfTest();
    const pooler = await startPgbouncer(server, "postgres");
    onTestFinished(pooler.stop);
    await checkReset(await startInstances(pooler.url, 3), 6);
  });
});

test(
  "sites are followed by one instance, and by another one when that is killed",
  LONG,
  async () => {
    const server = await postgresOfTest();
    const site = await startStandIn();
    onTestFinished(() => site.stop());
    const instances = await startInstances(await server.newDatabase(), 2);
    const call = async (instance: Instance, path: string, body: unknown): Promise<void> => {
      const headers = { authorization: TOKEN };
      const send = http1Sender(instance.port());
      const { json } = await send(`/api/admin/${path}`, { method: "POST", headers, body });
      expect(json).toMatchObject({ code: 200 });
    };
    const [one, other] = instances;
    if (one === undefined || other === undefined) throw new Error("no instance");
    await call(one, "site/create", { name: "one", url: site.url, token: site.token() });
    await call(other, "site/adopt", { name: "one" });
    // Each detects at once what the other has written, and keeps it.
    await call(one, "site/update?name=one", { paused: true });
    await call(other, "site/update?name=one", { mode: "SITE_MODE_FOLLOW" });
    const { json } = await http1Sender(other.port())("/api/admin/site/get?name=one", {
      headers: { authorization: TOKEN },
    });
    expect(json).toMatchObject({
      data: { paused: true, mode: "SITE_MODE_FOLLOW" },
    });
    await call(one, "site/update?name=one", { paused: false });
    const save = (by: Instance, value: string) =>
      call(by, "setting/save", [{ key: "site_title", value }]);
    const pushed = (value: string) => expect.poll(() => site.value("site_title")).toBe(value);
    await save(one, "by either");
    await pushed("by either");
    // In sequence: the leader is among them.
    for (const [at, killed] of instances.entries()) {
      killed.kill("SIGKILL");
      await save(at === 0 ? other : one, `after ${at}`);
      await pushed(`after ${at}`);
      await killed.again();
    }
  },
);

test("reads with a token send no query, in any number", LONG, async () => {
  const server = await postgresOfTest();
  const address = await openSwitch(server.port);
  const url = (await server.newDatabase()).replace(`:${server.port}/`, `:${address.port}/`);
  const [instance] = await startInstances(url, 1);
  const send = http1Sender(instance?.port() ?? 0);
  const headers = { authorization: TOKEN };
  const before = address.sent();
  expect(before).toBeGreaterThan(0);
  const READS = 3_000;
  for (let read = 0; read < READS; read += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { json } = await send("/api/admin/setting/get?key=site_title", { headers });
        expect(json).toMatchObject({ code: 200 });
      }),
    );
  // The background work of the instance: a few queries a second.
  expect(address.sent() - before).toBeLessThan(READS / 3);
});
