import { expect, test } from "vitest";
import { type MooringProcess, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";

const soon = <T>(look: () => T, message = "") => expect.poll(look, { message });
/**
 * By the next check of a site, at the latest: on a busy machine the one soon after a push has
 * passed.
 */
const atNextCheck = <T>(look: () => T, message: string) =>
  expect.poll(look, { timeout: 90_000, message });

async function call(
  mooring: MooringProcess,
  path: string,
  body?: unknown,
): Promise<{ code: number; data: unknown }> {
  const reply = await fetch(`http://127.0.0.1:${mooring.port()}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await reply.json()) as { code: number; data: unknown };
}

async function withSite(mooring: MooringProcess, site: StandIn): Promise<void> {
  const made = { name: "one", url: site.url, token: site.token() };
  expect((await call(mooring, "/api/admin/site/create", made)).code).toBe(200);
  expect((await call(mooring, "/api/admin/site/adopt", { name: "one" })).code).toBe(200);
  const follow = { mode: "SITE_MODE_FOLLOW" };
  expect((await call(mooring, "/api/admin/site/update?name=one", follow)).code).toBe(200);
}

const save = (mooring: MooringProcess, settings: Record<string, string>) =>
  call(
    mooring,
    "/api/admin/setting/save",
    Object.entries(settings).map(([key, value]) => ({ key, value })),
  );

/** A killed process leaves its lease for some seconds. */
const LONG = 240_000;

/**
 * Points of a push at which Mooring is killed, with a setting without a hook and one with; which
 * one is stored late.
 */
const POINTS = [
  { what: "the list is requested", stage: "list", count: 1 },
  { what: "the first is sent", stage: "save", count: 1, late: ["site_title", "new"] },
  { what: "the first is stored", stage: "stored", count: 1 },
  {
    what: "the second is sent",
    stage: "save",
    count: 2,
    late: ["multipart_chunk_size", "7"],
  },
  { what: "the second is stored", stage: "stored", count: 2 },
  { what: "all is stored and read back", stage: "list", count: 2 },
] as const;

/** Holds a call at a point. @returns a promise of its arrival, and a function that releases it. */
function holdAt(site: StandIn, { stage, count }: (typeof POINTS)[number]) {
  const reached = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let times = 0;
  site.hold = async (at) => {
    if (at !== stage) return;
    times += 1;
    if (times !== count) return;
    reached.resolve();
    await release.promise;
  };
  return { reached: reached.promise, release: release.resolve };
}

test("killed at any point of a push, site and Mooring agree after the next start", {
  timeout: LONG,
}, async () => {
  const env = { MOORING_ADMIN_TOKEN: TOKEN };
  const killedAt = async (point: (typeof POINTS)[number], folder: string): Promise<void> => {
    const site = await startStandIn();
    const values = () => [site.value("site_title"), site.value("multipart_chunk_size")];
    const first = await startedMooring({ folder, env });
    await withSite(first, site);
    const { reached, release } = holdAt(site, point);
    expect((await save(first, { site_title: "new", multipart_chunk_size: "7" })).code).toBe(200);
    await reached;
    first.kill("SIGKILL");
    await first.ended;
    const second = await startedMooring({ folder, env });
    await soon(values, point.what).toEqual(["new", "7"]);
    await save(second, { site_title: "newer", multipart_chunk_size: "8" });
    await soon(values, point.what).toEqual(["newer", "8"]);
    // The dead process's request is stored only now.
    release();
    await new Promise((resolve) => setImmediate(resolve));
    if ("late" in point) expect(site.value(point.late[0])).toBe(point.late[1]);
    await atNextCheck(values, point.what).toEqual(["newer", "8"]);
    const health = async () => {
      const { data } = await call(second, "/api/admin/site/get?name=one");
      return (data as { status: { state: string } }).status.state;
    };
    await soon(health, point.what).toBe("ok");
    await second.stop();
    await site.stop();
  };
  const folders = await Promise.all(POINTS.map(testFolder));
  await Promise.all(POINTS.map((point, at) => killedAt(point, folders[at] ?? "")));
});

test("of several workers one pushes; another takes over when it ends", {
  timeout: LONG,
}, async () => {
  const site = await startStandIn();
  const mooring = await startedMooring({
    env: { MOORING_ADMIN_TOKEN: TOKEN, MOORING_WORKERS: "2" },
  });
  await withSite(mooring, site);
  await save(mooring, { site_title: "by one of them" });
  await soon(() => site.value("site_title")).toBe("by one of them");
  const workers = () =>
    mooring
      .log()
      .filter(({ msg, worker }) => msg === "serving" && worker !== undefined)
      .map(({ worker }) => Number(worker));
  await soon(() => workers().length).toBe(2);
  // In sequence: the pushing one is among them.
  for (const [at, worker] of [...workers()].entries()) {
    process.kill(worker, "SIGKILL");
    await mooring.logged(({ msg }) => String(msg).includes("starting a replacement"));
    await soon(
      async () =>
        (await save(mooring, { site_title: `after ${at}` }).catch(() => ({ code: 0 }))).code,
    ).toBe(200);
    await soon(() => site.value("site_title")).toBe(`after ${at}`);
    // Without any worker the port, which the system has chosen, would be released.
    await soon(() => workers().length).toBe(3 + at);
  }
  await site.stop();
});

test("the state of sites is in /readyz and in the metrics", async () => {
  const site = await startStandIn();
  const mooring = await startedMooring({
    env: { MOORING_ADMIN_TOKEN: TOKEN, MOORING_METRICS_LISTEN: "127.0.0.1:0" },
  });
  await withSite(mooring, site);
  const [line] = mooring.log().filter(({ msg }) => msg === "serving");
  const metrics = async () => (await fetch(`http://${String(line?.["metrics"])}/metrics`)).text();
  expect(await metrics()).toContain('mooring_site_up{site="one"} 1');
  const ready = async () =>
    (await fetch(`http://127.0.0.1:${mooring.port()}/readyz?verbose`)).text();
  expect(await ready()).toContain("[+] sites: ok (1: 1 ok)");
  await save(mooring, { search_index: "meilisearch" });
  await soon(metrics).toContain('mooring_site_refused_keys{site="one"} 1');
  expect(await ready()).toMatch(
    /\[\+\] sites: ok \(1: 1 stuck(; \d revisions? behind)?; 1 refused\)/,
  );
  expect(await metrics()).toContain('mooring_site_state{site="one",state="stuck"} 1');
  await site.stop();
  await save(mooring, { site_title: "while it is down" });
  await soon(metrics).toContain('mooring_site_up{site="one"} 0');
  expect(await metrics()).toMatch(/mooring_site_lag_revisions\{site="one"\} [1-9]/);
  expect(await ready()).toMatch(/sites: ok \(1: 1 failing; \d revisions? behind/);
  const status = await call(mooring, "/api/admin/status");
  expect(JSON.stringify(status)).toMatch(/1 failing; \d revisions? behind/);
});
