import { expect, test } from "vitest";
import { createTranslations } from "../../src/messages/language.ts";
import { textIn } from "../../src/messages/message.ts";
import { NEW_STATE, type Site, type SiteState, type SiteView } from "../../src/sites/site.ts";
import { stateOfSite } from "../../src/sites/site-state.ts";
import { STATES } from "../../src/sync/state.ts";
import { sampleSite } from "./sample.ts";

const site = (changes: Partial<Site> = {}) => sampleSite({ id: "h", created: 1, ...changes });
const REACHED: SiteState = { ...NEW_STATE, reachedAt: 5, appliedRevision: 9 };
const error = (kind: string) => ({ kind, message: `the site is ${kind}`, since: 7 });
const refused = { search_index: { hash: "", reason: "not support index" } };
const flapping = {
  drift: ["site_title"],
  corrections: { site_title: { times: [], isFlapping: true } },
};

interface Facts {
  readonly site?: Partial<Site>;
  readonly settings?: Partial<SiteState>;
  readonly error?: SiteState["error"];
  readonly mounts?: Readonly<Record<string, number>>;
  readonly rules?: Readonly<Record<string, number>>;
}

const view = (facts: Facts): SiteView => ({
  site: site(facts.site),
  state: { ...REACHED, ...facts.settings },
  records: [
    { kind: "mount", error: facts.error, counts: { ok: 2, ...facts.mounts } },
    { kind: "rule", error: undefined, counts: { ok: 1, ...facts.rules } },
  ],
});

const setting = (changes: Partial<SiteState>): Facts => ({ settings: changes });
const observed = (facts: Facts): Facts => ({ site: { mode: "observe" }, ...facts });
const mounts = (counts: Readonly<Record<string, number>>): Facts => ({ mounts: counts });
const DRIFT = { drift: ["site_title"] };
const BEHIND = { appliedRevision: 8 };
const CHECK = "site check home";
const MOUNTS = "mount list --site home";

test.each<[what: string, facts: Facts, state: string, cause: string, remedy: string]>([
  ["everything agrees and works", {}, "ok", "", ""],
  [
    "paused, whatever was known before",
    { site: { paused: true }, error: error("unreachable") },
    "waiting",
    "paused",
    "paused=false",
  ],
  ["never read", setting({ reachedAt: 0 }), "waiting", "not been read", ""],
  ["unreachable", setting({ error: error("unreachable") }), "failing", "is unreachable", CHECK],
  ["refused", setting({ error: error("unauthorized") }), "stuck", "is unauthorized", CHECK],
  ["mounts that can't be read", { error: error("silent") }, "failing", "is silent", CHECK],
  ["mounts that may not be read", { error: error("forbidden") }, "stuck", "is forbidden", CHECK],
  [
    "a refused setting",
    setting({ refused }),
    "stuck",
    "refused search_index: not support index",
    "Change the values",
  ],
  ["a flapping setting", setting(flapping), "stuck", "site_title", "site sync home"],
  ["a setting that is about to be corrected", setting(DRIFT), "waiting", "site_title", ""],
  ["at an observed site", observed(setting(DRIFT)), "differs", "site_title", "adopt home"],
  ["a revision behind", setting(BEHIND), "waiting", "yet: 1", ""],
  ["an observed site a revision behind", observed(setting(BEHIND)), "ok", "", ""],
  [
    "a mount that differs",
    observed(mounts({ differs: 1 })),
    "differs",
    "mounts: 2 ok, 1 differs",
    MOUNTS,
  ],
  ["several", observed(mounts({ differs: 41 })), "differs", "mounts: 2 ok, 41 differ", MOUNTS],
  [
    "a rule that differs, and mounts that work",
    observed({ rules: { differs: 1 } }),
    "differs",
    "folder rules: 1 ok, 1 differs",
    "rule list --site home",
  ],
  [
    "a failing mount beside a rule that differs: the worst of all",
    { mounts: { failing: 1 }, rules: { differs: 1 } },
    "failing",
    "mounts: 2 ok, 1 failing",
    MOUNTS,
  ],
  ["a mount that is on its way", mounts({ waiting: 1 }), "waiting", "1 waiting", ""],
  ["a failing mount", mounts({ failing: 1 }), "failing", "2 ok, 1 failing", MOUNTS],
  ["a stuck one beside", mounts({ failing: 1, stuck: 1 }), "stuck", "1 failing, 1 stuck", MOUNTS],
  [
    "a failing mount beside a setting on its way",
    { mounts: { failing: 1 }, settings: { drift: ["a"] } },
    "failing",
    "failing",
    MOUNTS,
  ],
])("state of a site: %s", (_what, facts, state, cause, remedy) => {
  const decided = stateOfSite(view(facts), 9);
  expect(decided.state).toBe(state);
  expect(String(decided.cause)).toContain(cause);
  expect(String(decided.remedy)).toContain(remedy);
});

test("a site is never better than one of its mounts, and only ok without a cause", () => {
  for (const mode of ["follow", "observe"] as const)
    for (const worst of STATES)
      for (const settings of [{}, { drift: ["a"] }, { refused }, flapping]) {
        const decided = stateOfSite(view({ site: { mode }, mounts: { [worst]: 1 }, settings }), 9);
        expect(STATES.indexOf(decided.state)).toBeGreaterThanOrEqual(STATES.indexOf(worst));
        expect(decided.cause === "").toBe(decided.state === "ok");
      }
});

test("a cause names five keys at most", () => {
  const drift = Array.from({ length: 8 }, (_each, at) => `key_${at}`);
  const { cause } = stateOfSite(view({ settings: { drift } }), 9);
  expect(String(cause)).toMatch(/key_4, … \(\+3\)$/);
});

test("a cause counts the states of records in the language of its reader", () => {
  const { cause } = stateOfSite(view({ mounts: { failing: 1, stuck: 3 } }), 9);
  expect(textIn(cause, createTranslations()("zh-CN"))).toBe(
    "存储：2 个正常，1 个出错，3 个需要处理",
  );
});
