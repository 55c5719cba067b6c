import { useSignal } from "@preact/signals";
import type { Mount, MountTest } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { Button } from "../components/button.tsx";
import { useTask } from "../components/task.tsx";
import { t } from "../i18n/language.ts";
import { TestOutcome } from "./on-its-sites.tsx";

/** Time limit of one call, in milliseconds. */
const PATIENCE = 300_000;
/** Maximum number of mounts in one call, which makes at most 500 tests. */
const AT_ONCE = 20;

/**
 * Test of mounts at their providers, with its progress. Mounts of one driver are in one call if
 * possible: the service then asks each account once at a time.
 */
export function TestMounts(props: { readonly mounts: readonly Mount[]; readonly site: string }) {
  const { mounts, site } = props;
  const tests = useSignal<readonly MountTest[]>([]);
  const task = useTask(async (signal, report) => {
    tests.value = [];
    let done = 0;
    for (const names of groupsOf(mounts)) {
      report({ done, all: mounts.length, name: names[0] ?? "" });
      const reply = await mountService.testMounts({ names, site }, { signal, timeoutMs: PATIENCE });
      tests.value = [...tests.value, ...reply.tests];
      done += names.length;
    }
  });
  const works = tests.value.filter(({ outcome }) => outcome === "works").length;
  const rest = tests.value.filter(({ outcome, error }) => outcome !== "works" || error !== "");
  return (
    <div class="test-all">
      <Button disabled={task.busy} onClick={task.start}>
        {t("mounts.testAll", { count: mounts.length })}
      </Button>
      {task.view}
      {tests.value.length > 0 && (
        <p role="status">{t("mounts.tested", { count: works, all: tests.value.length })}</p>
      )}
      {rest.length > 0 && (
        <ul>
          {rest.map((test) => (
            <li key={`${test.site} ${test.name}`}>
              <strong>
                {test.site}: {test.name}
              </strong>
              <TestOutcome of={test} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function groupsOf(mounts: readonly Mount[]): string[][] {
  const byDriver = Map.groupBy(mounts, ({ driver }) => driver);
  return [...byDriver.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / AT_ONCE) }, (_, at) =>
      group.slice(at * AT_ONCE, (at + 1) * AT_ONCE).map(({ name }) => name),
    ),
  );
}
