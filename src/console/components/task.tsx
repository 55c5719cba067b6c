import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Button } from "./button.tsx";
import { Notice } from "./state.tsx";
import { useAction } from "./use-action.ts";

/** Long work of a page, which the user can end. */
export interface Task {
  readonly busy: boolean;
  /** Starts it; no-op while it runs. */
  start(): void;
  /** Its progress with a button that ends it, or the reason of its failure. */
  readonly view: ComponentChildren;
}

/** Progress of a task: work that is done, of all. */
export interface Progress {
  readonly done: number;
  readonly all: number;
  /** Current part. */
  readonly name: string;
}

/**
 * @param work ends when the signal is aborted: by the user, or when the page is left.
 * @param work.report shows the progress; without it, only that the work goes on.
 */
export function useTask(
  work: (signal: AbortSignal, report: (progress: Progress) => void) => Promise<void>,
): Task {
  const running = useRef<AbortController | undefined>(undefined);
  const { busy, problem, run } = useAction();
  const progress = useSignal<Progress | undefined>(undefined);
  const isEnded = useSignal(false);
  useEffect(() => () => running.current?.abort(), []);
  const start = () =>
    void run(async () => {
      const ending = new AbortController();
      running.current = ending;
      isEnded.value = false;
      progress.value = undefined;
      try {
        await work(ending.signal, (now) => {
          progress.value = now;
        });
      } catch (thrown) {
        if (!ending.signal.aborted) throw thrown;
        isEnded.value = true;
      }
    });
  const { done = 0, all, name = "" } = progress.value ?? {};
  const view = (
    <>
      {busy && (
        <div class="task" role="status">
          <progress aria-label={t("task.progress")} {...(all && { value: done, max: all })} />
          {all !== undefined && <span class="small">{t("task.part", { done, all, name })}</span>}
          <Button onClick={() => running.current?.abort()}>{t("task.end")}</Button>
        </div>
      )}
      {isEnded.value && <Notice kind="warning">{t("task.ended")}</Notice>}
      {!busy && problem !== "" && <Notice kind="wrong">{problem}</Notice>}
    </>
  );
  return { busy, start, view };
}
