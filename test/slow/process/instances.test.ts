import { describe, expect, test } from "vitest";
import {
  checkLoad,
  checkReset,
  codeAt,
  resetAt,
  startInstances,
  startLoad,
} from "../../process/instance-group.ts";
import { TOKEN } from "../../process/mooring.ts";
import { postgresOfTest, serverOfFile } from "../../store/postgres/server.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const server = serverOfFile();

const LONG = { timeout: 120_000 };

describe("three instances, 64 saving clients and a watcher at each", () => {
  test("agree on one history without failures", LONG, async () => {
    const load = await startLoad(await server().newDatabase());
    await load.savers.more(1_000);
    await checkLoad(load);
  });

  test("lose nothing when instances are killed", LONG, async () => {
    const load = await startLoad(await server().newDatabase());
    for (const instance of load.instances.slice(0, 2)) {
      instance.kill("SIGKILL");
      await load.savers.more(200);
      await instance.again();
      await load.savers.more(200);
    }
    await checkLoad(load);
  });

  test(
    "lose nothing when the database's server is killed, nor when it closes all connections",
    LONG,
    async () => {
      const own = await postgresOfTest();
      const load = await startLoad(await own.newDatabase());
      for (const signal of ["SIGKILL", "SIGINT"] as const) {
        await own.kill(signal);
        const send = http1Sender(load.instances[0]?.port() ?? 0);
        expect((await send("/api/public/settings")).json).toMatchObject({ code: 200 });
        await own.start();
        await load.savers.more(300);
      }
      await checkLoad(load);
    },
  );

  test("lose nothing when connections for notifications are cut repeatedly", LONG, async () => {
    const load = await startLoad(await server().newDatabase());
    const database = load.url.split("/").at(-1);
    const listeners = async () => {
      const rows = await server().query(
        "select pid from pg_stat_activity where query like 'listen%' and datname = current_database()",
        database,
      );
      return rows.map(({ pid }) => pid);
    };
    const cut = new Set<unknown>();
    for (let round = 0; round < 3; round += 1) {
      // An instance listens again a second after a cut: an earlier cut would have no effect.
      const fresh = async () => (await listeners()).filter((pid) => !cut.has(pid));
      await expect.poll(fresh).toHaveLength(load.instances.length);
      for (const pid of await fresh()) {
        await server().query(`select pg_terminate_backend(${pid})`);
        cut.add(pid);
      }
      await load.savers.more(200);
    }
    await checkLoad(load);
  });

  test("lose nothing when one is halted for longer than its lease", LONG, async () => {
    // For seconds: they need not keep the machine busy in between.
    const load = await startLoad(await server().newDatabase(), 200);
    const [halted] = load.instances;
    process.kill(halted?.pid ?? 0, "SIGSTOP");
    await load.savers.more(500);
    const over = () =>
      server().query(
        "select from instance where lease_until < clock_timestamp()",
        load.url.split("/").at(-1),
      );
    await expect.poll(over).toHaveLength(1);
    process.kill(halted?.pid ?? 0, "SIGCONT");
    await load.savers.more(200);
    await checkLoad(load);
  });
});

describe("a token that was reset", () => {
  test("is accepted by no instance after the reply", LONG, async () => {
    await checkReset(await startInstances(await server().newDatabase(), 3), 12);
  });

  test(
    "is refused by an instance that was halted in between as soon as it continues",
    LONG,
    async () => {
      const instances = await startInstances(await server().newDatabase(), 2);
      const [by, halted] = instances;
      if (by === undefined || halted === undefined) throw new Error("no instance");
      expect(await codeAt(halted, TOKEN)).toBe(200);
      process.kill(halted.pid, "SIGSTOP");
      const pendingCode = codeAt(halted, TOKEN);
      const token = await resetAt(by, TOKEN);
      process.kill(halted.pid, "SIGCONT");
      expect(await pendingCode).toBe(401);
      expect(await codeAt(halted, token)).toBe(200);
    },
  );
});

test(
  "a read that requires a revision returns what another instance has saved, or fails",
  LONG,
  async () => {
    const instances = await startInstances(await server().newDatabase(), 2);
    const [one, other] = instances.map((instance) => http1Sender(instance.port()));
    if (one === undefined || other === undefined) throw new Error("no instance");
    const headers = { authorization: TOKEN };
    const read = async (revision: string) => {
      const asking = { headers: { ...headers, "mooring-at-least-revision": revision } };
      return (await other("/api/admin/setting/get?key=site_title", asking)).json;
    };
    for (let round = 0; round < 20; round += 1) {
      const body = [{ key: "site_title", value: `title ${round}` }];
      await one("/api/admin/setting/save", { method: "POST", headers, body });
      const { json } = await one("/api/admin/setting/get?key=site_title", { headers });
      const { data } = json as { readonly data: { readonly revision: string } };
      expect(await read(data.revision)).toMatchObject({ data: { value: `title ${round}` } });
    }
    expect(await read("1000000")).toMatchObject({
      code: 503,
      message: expect.stringMatching(
        /^this instance is at revision \d+ and has not reached 1000000/,
      ),
    });
    expect(await read("soon")).toMatchObject({ code: 400 });
  },
);

test("an instance whose server hangs admits no token that may have ended", LONG, async () => {
  const own = await postgresOfTest();
  const [instance] = await startInstances(await own.newDatabase(), 1);
  if (instance === undefined) throw new Error("no instance");
  const send = http1Sender(instance.port());
  own.pause();
  await instance.logged(({ msg }) => String(msg).includes("reads continue from memory"));
  expect((await send("/api/public/settings")).json).toMatchObject({ code: 200 });
  expect(await codeOf(send)).toBe(503);
  own.resume();
  await instance.logged(({ msg }) => String(msg).includes("is back"));
  expect(await codeOf(send)).toBe(200);
});

const codeOf = async (send: ReturnType<typeof http1Sender>): Promise<number> => {
  const headers = { authorization: TOKEN };
  const { json } = await send("/api/admin/setting/list", { headers });
  return (json as { readonly code: number }).code;
};
