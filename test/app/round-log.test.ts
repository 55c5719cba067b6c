import { expect, test } from "vitest";
import { type RoundEntry, recordRounds } from "../../src/app/round-log.ts";
import { createTranslations } from "../../src/messages/language.ts";
import { message, type Text, textIn } from "../../src/messages/message.ts";
import type { SiteNote } from "../../src/sites/store.ts";

/** Results in the log of a site after rounds, in a language. */
async function resultsOf(done: readonly Partial<RoundEntry>[], language: "en" | "zh-CN") {
  const results: Text[] = [];
  const record = recordRounds({
    action: "mount",
    worker: { actor: "mounts", transport: "", method: "mount", peer: "", requestId: "" },
    store: {
      note: async (notes: readonly SiteNote[]) =>
        void results.push(...notes.flatMap(({ events }) => events.map(({ result }) => result))),
    },
    ledger: { snapshot: () => ({ revision: 1 }) } as never,
    log: { info: () => undefined, warn: () => undefined } as never,
  });
  const whole = { name: "films", path: "/films", steps: [], drifted: false, error: "" };
  await record(
    { id: "h", name: "home" } as never,
    done.map((each) => ({ ...whole, ...each })),
  );
  return results.map((result) => textIn(result, createTranslations()(language)));
}

test("the log of a site has the calls of rounds in the language of its reader", async () => {
  const done = [
    { steps: ["create"] },
    { steps: ["disable", "update", "enable"] },
    { steps: ["delete"], error: message("CAUSE_REFUSED") },
    { steps: [] },
  ];
  expect(await resultsOf(done, "en")).toEqual([
    "create",
    "disable, update, enable",
    "delete: connection refused",
  ]);
  expect(await resultsOf(done, "zh-CN")).toEqual([
    "创建",
    "停用，更新，启用",
    "删除：那里没有服务在监听",
  ]);
});
