/** Question to the worker: which of the names match a regular expression of a rule. */
export interface HideQuestion {
  readonly pattern: string;
  readonly names: readonly string[];
}

/** Names that match; undefined: the browser does not understand the expression. */
export type HideAnswer = readonly string[] | undefined;

// A worker, because an expression may take longer than any patience: the page ends the worker then.
addEventListener("message", ({ data }: MessageEvent<HideQuestion>) => {
  let answer: HideAnswer;
  try {
    const expression = new RegExp(data.pattern);
    answer = data.names.filter((name) => expression.test(name));
  } catch {
    answer = undefined;
  }
  postMessage(answer);
});
