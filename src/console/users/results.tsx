import type { UserResult } from "../../../gen/mooring/v1/user_pb.js";
import { CopyButton } from "../components/copy.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

const OUTCOMES: Readonly<Record<string, MessageKey>> = {
  created: "userResult.created",
  updated: "userResult.updated",
  same: "userResult.same",
  kept: "userResult.kept",
  skipped: "userResult.skipped",
  refused: "userResult.refused",
  failed: "userResult.failed",
};

/** Results of a copy, or of its dry run: outcomes, generated passwords, and what is not copied. */
export function Results({ results }: { readonly results: readonly UserResult[] }) {
  const made = results.filter(({ password }) => password !== "");
  const lines = made.map(({ name, password }) => `${name}:${password}`).join("\n");
  return (
    <>
      {made.length > 0 && (
        <Notice kind="warning">
          <p>{t("users.once")}</p>
          <p class="ways">
            <CopyButton text={lines} />
          </p>
        </Notice>
      )}
      <ul class="users">
        {results.map(({ name, outcome, reason, password, notes }) => (
          <li key={name} data-result={name}>
            <div>
              <strong>{name}</strong>{" "}
              <span class="badge">{t(OUTCOMES[outcome] ?? "userResult.failed")}</span>{" "}
              {password !== "" && (
                <code class="made" data-secret>
                  {password}
                </code>
              )}
              {[reason, ...notes]
                .filter((text) => text !== "")
                .map((text) => (
                  <p key={text} class="quiet small">
                    {text}
                  </p>
                ))}
            </div>
          </li>
        ))}
      </ul>
      <Losses results={results} />
    </>
  );
}

/** What is not copied, each text once with the names of its users. */
function Losses({ results }: { readonly results: readonly UserResult[] }) {
  const names = new Map<string, string[]>();
  for (const { name, lost } of results)
    for (const text of lost) names.set(text, [...(names.get(text) ?? []), name]);
  if (names.size === 0) return null;
  return (
    <Notice kind="warning">
      <p>{t("users.lost")}</p>
      <ul>
        {[...names].map(([text, of]) => (
          <li key={text} class="small">
            <strong>{of.join(", ")}</strong>: {text}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
