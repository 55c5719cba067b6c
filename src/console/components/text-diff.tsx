import { diffLines } from "diff/lib/diff/line.js";
import { diffWordsWithSpace } from "diff/lib/diff/word.js";
import type { ComponentChildren } from "preact";
import { t } from "../i18n/language.ts";
import "./text-diff.css";

interface Texts {
  readonly from: string;
  readonly to: string;
}

/** Maximum number of edits in a comparison: very different texts are shown in full. */
const MOST = 2_000;
/** Number of context lines around a change. */
const AROUND = 2;

/**
 * Difference of two texts: removed text is struck and has −, new text has +.
 *
 * @param from undefined: no text before. @param to undefined: no text after.
 */
export function TextDiff({ from, to }: { readonly [side in keyof Texts]: string | undefined }) {
  if (from === undefined || to === undefined)
    return (
      <div class="text-diff">
        {from !== undefined && <Side kind="removed" text={from} />}
        {to !== undefined && <Side kind="added" text={to} />}
      </div>
    );
  if (from === to) return <Side kind="same" text={to} />;
  const lines = from.includes("\n") || to.includes("\n");
  return lines ? <LineDiff from={from} to={to} /> : <WordDiff from={from} to={to} />;
}

/** Old line above the new one, with the different words marked. */
function WordDiff({ from, to }: Texts) {
  const parts = diffWordsWithSpace(from, to, { maxEditLength: MOST });
  const common = parts?.filter((part) => !part.added && !part.removed) ?? [];
  // Words are marked only if a part is unchanged.
  const marked = common.some(({ value }) => value.trim().length > 1) ? parts : undefined;
  const side = (kind: "removed" | "added", text: string) => (
    <Side kind={kind} text={text}>
      {marked
        ?.filter((part) => !part[kind === "added" ? "removed" : "added"])
        .map((part, index) => (part[kind] ? <mark key={index}>{part.value}</mark> : part.value))}
    </Side>
  );
  return (
    <div class="text-diff">
      {side("removed", from)}
      {side("added", to)}
    </div>
  );
}

function LineDiff({ from, to }: Texts) {
  const parts = diffLines(from, to, { maxEditLength: MOST });
  if (parts === undefined)
    return (
      <div class="text-diff">
        <Lines kind="removed" lines={from.split("\n")} />
        <Lines kind="added" lines={to.split("\n")} />
      </div>
    );
  return (
    <div class="text-diff">
      {parts.map(({ added, removed, value }, index) => {
        const lines = value.replace(/\n$/, "").split("\n");
        const ends = { first: index === 0, last: index === parts.length - 1 };
        if (!added && !removed) return <Same key={index} lines={lines} {...ends} />;
        return <Lines key={index} kind={added ? "added" : "removed"} lines={lines} />;
      })}
    </div>
  );
}

/** Unchanged lines near a change. */
function Same(props: {
  readonly lines: readonly string[];
  readonly first: boolean;
  readonly last: boolean;
}) {
  const { lines, first, last } = props;
  const head = first ? 0 : AROUND;
  const tail = last ? 0 : AROUND;
  const hidden = lines.length - head - tail;
  if (hidden <= 1) return <Lines kind="same" lines={lines} />;
  return (
    <>
      <Lines kind="same" lines={lines.slice(0, head)} />
      <p class="quiet small">{t("diff.same", { count: hidden })}</p>
      <Lines kind="same" lines={lines.slice(lines.length - tail)} />
    </>
  );
}

function Lines(props: { readonly kind: keyof typeof SIGNS; readonly lines: readonly string[] }) {
  return (
    <>
      {props.lines.map((line, index) => (
        <Side key={index} kind={props.kind} text={line}>
          {line === "" ? "\u00a0" : line}
        </Side>
      ))}
    </>
  );
}

const SIGNS = { added: "+", removed: "−", same: " " } as const;

function Side(props: {
  readonly kind: keyof typeof SIGNS;
  readonly text: string;
  readonly children?: ComponentChildren;
}) {
  const { kind, text, children } = props;
  const body = children ?? (text === "" ? <em class="quiet">{t("value.empty")}</em> : text);
  const word = kind === "same" ? undefined : t(kind === "added" ? "diff.added" : "diff.removed");
  return (
    <div class={`side ${kind}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[kind]}
      </span>
      {word && <span class="unseen">{word}: </span>}
      {kind === "removed" ? (
        <del>{body}</del>
      ) : kind === "added" ? (
        <ins>{body}</ins>
      ) : (
        <span>{body}</span>
      )}
    </div>
  );
}
