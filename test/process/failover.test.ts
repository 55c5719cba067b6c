import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../downloader/program.ts";
import { startPgbouncer } from "../store/postgres/pgbouncer.ts";
import { postgresProgram, startPostgres, type TestServer } from "../store/postgres/server.ts";
import { openSwitch } from "../store/postgres/switch.ts";
import { http1Sender } from "../wire/door/http.ts";
import { checkLoad, type Instance, startInstances, startLoad } from "./instance-group.ts";
import { TOKEN } from "./mooring.ts";

const isThere = needs(postgresProgram("postgres"));
beforeEach((context) => isThere(context));

const LONG = { timeout: 180_000 };

async function ownServer(settings: readonly string[] = []): Promise<TestServer> {
  const own = await startPostgres({ settings });
  onTestFinished(() => own.remove());
  return own;
}

test(
  "three instances under load lose nothing when a standby that saves wait for takes the primary's place",
  LONG,
  async () => {
    const primary = await ownServer();
    const standby = await primary.standby();
    onTestFinished(() => standby.remove());
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
        expect.stringMatching(/^a standby has taken the place of/),
      );
  },
);

describe("behind a pooler in transaction mode", () => {
  const hasPooler = needs("pgbouncer");
  beforeEach((context) => hasPooler(context));

  test(
    "three instances under load lose nothing, also when the pooler is started anew",
    LONG,
    async () => {
      const server = await ownServer();
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

  test(
    "a token that was reset is accepted by no instance once the reset has been answered",
    LONG,
    async () => {
      const server = await ownServer();
      const pooler = await startPgbouncer(server, "postgres");
      onTestFinished(pooler.stop);
      const instances = await startInstances(pooler.url, 3);
      const call = async (
        instance: Instance | undefined,
        token: string,
        path: string,
        method = "GET",
      ) => {
        const send = http1Sender(instance?.port() ?? 0);
        const { json } = await send(path, { method, headers: { authorization: token } });
        return json as { readonly code: number; readonly data: string };
      };
      const codes = (token: string) =>
        Promise.all(
          instances.map(async (one) => (await call(one, token, "/api/admin/setting/list")).code),
        );
      let token = TOKEN;
      for (let round = 0; round < 6; round += 1) {
        const by = instances[round % 3];
        const { data } = await call(by, token, "/api/admin/setting/reset_token", "POST");
        expect(await codes(token)).toEqual([401, 401, 401]);
        token = data;
        expect(await codes(token)).toEqual([200, 200, 200]);
      }
    },
  );
});

test("reads with a token ask the database nothing, whatever their number", LONG, async () => {
  const server = await ownServer();
  const [instance] = await startInstances(await server.newDatabase(), 1);
  const send = http1Sender(instance?.port() ?? 0);
  const headers = { authorization: TOKEN };
  const transactions = async (): Promise<number> => {
    const [row] = await server.query(
      "select xact_commit + xact_rollback as made from pg_stat_database where datname = 'test1'",
    );
    return Number(row?.["made"]);
  };
  const before = await transactions();
  const began = performance.now();
  const READS = 3_000;
  for (let read = 0; read < READS; read += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { json } = await send("/api/admin/setting/get?key=site_title", { headers });
        expect(json).toMatchObject({ code: 200 });
      }),
    );
  // What is asked, whatever is called: about three times a second, ten times without notifications.
  const asked = ((performance.now() - began) / 1_000) * 10;
  // The server counts a second late.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const made = (await transactions()) - before;
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(asked + 100);
});
