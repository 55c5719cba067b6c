import { accessCall, growthTokens } from "./contest/access.ts";
import { connectPublic } from "./contest/connect.ts";
import { gateway } from "./contest/gateway.ts";
import { growthAll, growthList, growthSave, growthSetting, growthValue } from "./contest/growth.ts";
import { grpcPublic, grpcSetting } from "./contest/grpc.ts";
import { restCompressed, restPublic, restSetting, restUnchanged } from "./contest/rest.ts";
import { saveMany, saveOne, saveShared } from "./contest/save.ts";
import { upstreamRequest } from "./contest/upstream.ts";
import { experimentOf } from "./contest.ts";
import type { Experiment } from "./finding.ts";
import { consoleInBrowser } from "./probe/console.ts";
import { garbage } from "./probe/garbage.ts";
import { idleMemory } from "./probe/memory.ts";
import { mountFollow } from "./probe/mounts.ts";
import { sitePass, siteSave } from "./probe/site.ts";
import { startTime } from "./probe/start.ts";
import { tokenMemory } from "./probe/token-memory.ts";
import { longestTurn } from "./probe/turn.ts";
import { upstreamTransfer } from "./probe/upstream-transfer.ts";
import { watch } from "./probe/watch.ts";
import { workers } from "./probe/workers.ts";

/** Everything that is measured, in the order of the report. */
export const experiments: readonly Experiment[] = [
  experimentOf(restPublic),
  experimentOf(restUnchanged),
  experimentOf(restCompressed),
  experimentOf(restSetting),
  garbage,
  experimentOf(grpcPublic),
  experimentOf(grpcSetting),
  experimentOf(connectPublic),
  experimentOf(accessCall),
  gateway,
  experimentOf(upstreamRequest),
  upstreamTransfer,
  experimentOf(saveMany),
  experimentOf(saveShared),
  experimentOf(saveOne),
  watch,
  startTime,
  idleMemory,
  consoleInBrowser,
  workers,
  experimentOf(growthSetting),
  experimentOf(growthList),
  experimentOf(growthAll),
  experimentOf(growthValue),
  experimentOf(growthSave),
  experimentOf(growthTokens),
  tokenMemory,
  siteSave,
  sitePass,
  mountFollow,
  longestTurn,
];
