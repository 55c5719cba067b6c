import MiniSearch, { type Options } from "minisearch";
import { tokenize } from "./tokenize.ts";

/** The search of the theme, with words as the index has them. */
export default class Search<T> extends MiniSearch<T> {
  static override loadJSON<T>(json: string, options: Options<T>): MiniSearch<T> {
    return MiniSearch.loadJSON(json, { ...options, tokenize });
  }
}
