import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { allMounts, mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { useTask } from "../components/task.tsx";
import { t } from "../i18n/language.ts";
import { type HiddenByLine, hiddenNames } from "./hide.ts";

/** Pause after a key press before the expressions run, in milliseconds. */
const TRY_AFTER = 300;
/** Time limit of a listing, in milliseconds. */
const PATIENCE = 180_000;

/** Names that the lines of `hide` hide, of names that are typed or listed by a site. */
export function HidePreview({ hide, path }: { readonly hide: string; readonly path: string }) {
  const text = useSignal("");
  const found = useSignal<readonly HiddenByLine[]>([]);
  const names = text.value.split("\n").flatMap((name) => name.trim() || []);
  const count = names.length;
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      if (count === 0) found.value = [];
      else
        hiddenNames(hide, names, leaving.signal).then(
          (lines) => {
            found.value = lines;
          },
          () => undefined,
        );
    }, TRY_AFTER);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [hide, text.value]);
  const listing = useTask(async (signal) => {
    const mounts = await allMounts({}, signal);
    const mount = mounts.find(({ mountPath }) => mountPath === path);
    if (mount === undefined) throw new Error(t("rule.noMount", { path }));
    const { tests } = await mountService.testMounts(
      { names: [mount.name] },
      { signal, timeoutMs: PATIENCE },
    );
    const entries = tests.flatMap((test) => test.entries.map((name) => name.replace(/\/$/, "")));
    text.value = [...new Set(entries)].join("\n");
  });
  const hidden = new Set(
    found.value.flatMap((line) => (Array.isArray(line.names) ? line.names : [])),
  );
  return (
    <details>
      <summary>{t("rule.tryHide")}</summary>
      <div class="block-form">
        <Field
          label={t("rule.names")}
          hint={t("rule.namesHint")}
          wrong={undefined}
          value={text.value}
          lines
          onChange={(value) => {
            text.value = value;
          }}
        />
        {may("mounts:write") && (
          <div>
            <Button disabled={listing.busy} onClick={listing.start}>
              {t("rule.listFolder")}
            </Button>
          </div>
        )}
        {listing.view}
        {count > 0 && (
          <div role="status">
            <p>{t("rule.hides", { count: hidden.size, all: count })}</p>
            <ul>
              {found.value.map(({ line, names: matched }) => (
                <li key={line}>
                  <code>{line}</code>:{" "}
                  {matched === "invalid" && <span class="wrong">{t("rule.notUnderstood")}</span>}
                  {matched === "slow" && <span class="wrong">{t("rule.slow")}</span>}
                  {Array.isArray(matched) && (matched.join(", ") || t("rule.hidesNothing"))}
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </details>
  );
}
