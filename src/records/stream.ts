import type { HandlerContext } from "@connectrpc/connect";
import { type Grant, grantOf, ROOT } from "../access/grant.ts";
import { createView } from "../collection-view.ts";
import { memoize } from "../memoize.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createLanguageOf } from "../messages/localize.ts";
import { type Text, textIn } from "../messages/message.ts";
import type { View } from "../state-feed.ts";
import type { Watched } from "./watch.ts";

/** Messages of the streams of a kind. */
export interface StreamForm<T, S extends object, E, M> {
  /** Message of a record in a language. */
  show(item: T, say: (text: Text) => string): E;
  /** Message of a change. */
  event(changed: E[], removed: readonly T[], source: S): M;
  isAllowed(grant: Grant, item: T): boolean;
}

/** Implements a method that streams records: streams of the same rights and language share their messages. */
export function createRecordStream<T extends object, S extends object, E, M>(
  watch: (view: View<Watched<T, S>, M>, signal: AbortSignal) => AsyncIterable<M>,
  translations: (language: Language) => Translate,
  form: StreamForm<T, S, E, M>,
): (request: unknown, context: HandlerContext) => AsyncIterable<M> {
  const languageOf = createLanguageOf();
  const viewIn = memoize((language: Language) => {
    const translate = translations(language);
    const show = memoize((item: T) => form.show(item, (text) => textIn(text, translate)));
    return memoize((grant: Grant) =>
      createView<Watched<T, S>, T, M>(
        ({ changed, removed }, { source }) => form.event(changed.map(show), removed, source),
        (item) => form.isAllowed(grant, item),
      ),
    );
  });
  return (_request, context) => {
    const grant = grantOf(context);
    // Streams of all grants without limits show the same.
    const view = viewIn(languageOf(context, ""))(grant.limits.length === 0 ? ROOT : grant);
    return watch(view, context.signal);
  };
}
