import type { Contest } from "../contest.ts";
import type { Lab } from "../lab.ts";
import { addCustomSettings, customKey, type Mooring, startMooring } from "../mooring.ts";
import { keepReply } from "../reply.ts";
import type { Side } from "../side.ts";
import { startYardstick } from "../yardstick.ts";
import { wrkSide } from "./rest.ts";
import { saveSide } from "./save.ts";

const COUNTS = [100, 1_000, 10_000];
/** How much a flat cost may still grow: what a run moves by itself. */
const FLAT = 1.2;
const WRK = "wrk, 32 keep-alive connections, HTTP/1.1";
/** The largest value there is. */
const LARGE = 64 * 1024;

/** One setting out of more and more. */
export const growthSetting = growth({
  name: "growth-setting",
  title: "GET /api/admin/setting/get with 100, 1,000 and 10,000 custom settings",
  load: WRK,
  measure: "cpuPerRequest",
  side: (lab, name, mooring) => restSide(lab, name, mooring, `get?key=${customKey(50)}`),
});

/** A list that stays the same while the rest grows. */
export const growthList = growth({
  name: "growth-list",
  long: true,
  title:
    "GET /api/admin/setting/list?group=1 with 100, 1,000 and 10,000 custom settings of group 0",
  load: WRK,
  measure: "cpuPerRequest",
  side: (lab, name, mooring) => restSide(lab, name, mooring, "list?group=1"),
});

/** A save of one setting out of more and more. */
export const growthSave = growth({
  name: "growth-save",
  title: "SaveSettings of one item with 100, 1,000 and 10,000 custom settings, one client",
  load: "own HTTP/2 client, one connection, one call at a time; every call another value",
  measure: "cpuPerRequest",
  side: async (lab, name, mooring) => saveSide(lab, name, mooring, 1),
});

/** A long reply: all settings at once, which nothing but its bytes should cost. */
export const growthAll: Contest = bufferContest({
  name: "growth-all",
  title: "GET /api/admin/setting/list of 10,000 settings",
  fill: (mooring) => addCustomSettings(mooring, 10_000),
  path: "/api/admin/setting/list",
});

/** A long value. */
export const growthValue: Contest = bufferContest({
  name: "growth-value",
  title: "GET /api/admin/setting/get of a value of 64 KiB",
  fill: (mooring) => addCustomSettings(mooring, 1, () => "x".repeat(LARGE)),
  path: `/api/admin/setting/get?key=${customKey(0)}`,
});

interface Growth extends Pick<Contest, "name" | "title" | "load" | "long"> {
  readonly measure: "cpuPerRequest";
  side(lab: Lab, name: string, mooring: Mooring): Promise<Side>;
}

/** Servers of the same kind with more and more settings, the fullest first. */
function growth({ measure, side, ...contest }: Growth): Contest {
  const label = (count: number) => `${count.toLocaleString("en-US")} settings`;
  const [few = 0, ...more] = COUNTS;
  return {
    ...contest,
    needs: contest.load === WRK ? ["wrk"] : [],
    comparisons: more.map((count) => ({
      of: label(count),
      against: label(few),
      measure,
      target: { atMost: FLAT },
    })),
    open: async (lab) => {
      const counts = lab.quick ? [few, Math.max(...COUNTS)] : COUNTS;
      const sides: Side[] = [];
      for (const count of counts.toReversed()) {
        const mooring = await startMooring(lab);
        await addCustomSettings(mooring, count);
        sides.push(await side(lab, label(count), mooring));
      }
      return sides;
    },
  };
}

async function restSide(lab: Lab, name: string, mooring: Mooring, call: string): Promise<Side> {
  const { server, port, token } = mooring;
  const job = { port, path: `/api/admin/setting/${call}`, headers: { Authorization: token } };
  return (await wrkSide(lab, name, server, job))[0];
}

interface BufferContest extends Pick<Contest, "name" | "title"> {
  readonly path: string;
  fill(mooring: Mooring): Promise<void>;
}

/** One long reply against node:http that sends it from a buffer. */
function bufferContest({ name, title, path, fill }: BufferContest): Contest {
  return {
    name,
    title,
    load: WRK,
    needs: ["wrk"],
    long: true,
    comparisons: [
      { of: "Mooring", against: "node:http", measure: "perSecond", target: { atLeast: 0.7 } },
    ],
    open: async (lab) => {
      const mooring = await startMooring(lab);
      await fill(mooring);
      const job = { path, headers: { Authorization: mooring.token } };
      const [side, reply] = await wrkSide(lab, "Mooring", mooring.server, {
        ...job,
        port: mooring.port,
      });
      const http = await startYardstick(lab.stage, "http.ts", keepReply(lab.stage, reply));
      const [bare] = await wrkSide(lab, "node:http", http.server, { ...job, port: http.port });
      return [side, bare];
    },
  };
}
