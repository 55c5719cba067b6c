import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type Failure, failureOf, problemOf } from "../api/failure.ts";
import { go, place } from "../shell/location.ts";

/** One run of an action. */
export interface Run {
  /** Aborted when the component has gone, such as a closed dialog. */
  readonly gone: AbortSignal;
  /**
   * Shows another page, unless the user has gone to one in the meantime.
   *
   * @param close closes first a dialog that is in the address, to which the back button returns.
   */
  go(address: string, close?: () => void): void;
}

/** State of an action that the user starts by a button or a form. */
export interface Action {
  /** Whether it runs; its buttons are disabled. */
  readonly busy: boolean;
  /** Failure of the last run, which stays until a run succeeds. */
  readonly failure: Failure | undefined;
  /** All problems of that failure as one text; empty: none. */
  readonly problem: string;
  /**
   * Runs the action, unless it runs already: a double click sends one request.
   *
   * @param work continues when the component has gone: a change that was sent is not undone.
   * @param onFailure called after a failure, with the text of its problems.
   * @returns resolved at the end, after a failure too.
   */
  run(
    work: (run: Run) => Promise<unknown>,
    onFailure?: (failure: Failure, problem: string) => void,
  ): Promise<void>;
  /** Removes the failure, such as after an edit of the inputs. */
  clear(): void;
}

/** Runs an action of a component, with its state for the buttons and its failure for a notice. */
export function useAction(): Action {
  const busy = useSignal(false);
  const failure = useSignal<Failure | undefined>(undefined);
  const problem = useSignal("");
  const clear = (): void => {
    failure.value = undefined;
    problem.value = "";
  };
  const [leaving] = useState(() => new AbortController());
  useEffect(() => () => leaving.abort(), [leaving]);
  const run: Action["run"] = async (work, onFailure) => {
    if (busy.peek()) return;
    busy.value = true;
    const start = place.peek();
    const goFromStart: Run["go"] = (address, close) => {
      if (place.peek() !== start) return;
      close?.();
      go(address);
    };
    try {
      await work({ gone: leaving.signal, go: goFromStart });
      clear();
    } catch (thrown) {
      failure.value = failureOf(thrown);
      problem.value = problemOf(thrown);
      onFailure?.(failure.value, problem.value);
    } finally {
      busy.value = false;
    }
  };
  return { busy: busy.value, failure: failure.value, problem: problem.value, run, clear };
}
