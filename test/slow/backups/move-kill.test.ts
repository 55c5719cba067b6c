// A restore to a new server whose process is killed: what the next start says, and what ends it.
import { expect, test } from "vitest";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../../mounts/whole-site.ts";
import { type MooringProcess, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { startedForEach } from "../../started.ts";
import { as } from "../../wire/access-client.ts";
import { local, rowOf } from "../../wire/following.ts";

const former = startedForEach(startWholeSite);
const fresh = startedForEach(startWholeSite);
const PASSPHRASE = "the passphrase of the move";

const start = (folder: string): Promise<MooringProcess> =>
  startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: TOKEN } });

test.each([
  ["the same restore completes it", "restore"],
  ["the operator resumes the site", "resume"],
])(
  "after a kill the site is paused on its new server and says so, until %s",
  async (_how, how) => {
    const folder = await testFolder();
    const killed = await start(folder);
    const { sites, mounts, backup, close } = as(killed.port(), TOKEN);
    await sites.createSite({ site: { name: "home", url: former.url, token: former.token() } });
    await sites.syncSite({ name: "home" });
    await sites.updateSite({ name: "home", site: { mode: SiteMode.FOLLOW } });
    await mounts.saveMounts({ mounts: [local("films", "/")] });
    await expect.poll(() => rowOf(former, "/films")?.status, { timeout: 30_000 }).toBe("work");
    former.settings.rules.put({ path: "/films", password: "p" });
    const { document } = await backup.createBackup({ passphrase: PASSPHRASE, download: true });
    const request = {
      document,
      passphrase: PASSPHRASE,
      newServers: { home: { url: fresh.url, token: fresh.token() } },
    };

    // The server has got the call, and the process does not live to see the reply.
    fresh.settings.rules.hold = () => killed.kill("SIGKILL");
    await expect(backup.restoreBackup(request)).rejects.toThrow();
    close();
    await killed.ended;
    fresh.settings.rules.hold = undefined;

    const next = await start(folder);
    const admin = as(next.port(), TOKEN);
    const siteNow = async () => (await admin.sites.getSite({ name: "home" })).site;
    expect(await siteNow()).toMatchObject({
      url: fresh.url,
      paused: true,
      status: {
        state: "stuck",
        remedy: expect.stringContaining("the same import or restore again"),
      },
    });
    const ready = await fetch(`http://127.0.0.1:${next.port()}/readyz?verbose`);
    expect(await ready.text()).toContain("paused by a restore that has not ended: home");
    expect(rowOf(fresh, "/films")).toBeUndefined();

    if (how === "restore") {
      await admin.backup.restoreBackup(request);
      expect(fresh.settings.rules.at("/films")).toMatchObject({ password: "p" });
    } else await admin.sites.updateSite({ name: "home", site: { paused: false } });
    expect(await siteNow()).toMatchObject({ paused: false });
    await expect.poll(() => rowOf(fresh, "/films")?.status, { timeout: 30_000 }).toBe("work");
    admin.close();
    await next.stop();
  },
  120_000,
);
