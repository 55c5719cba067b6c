import { writeFailure } from "../store-failure.ts";
import type { Book } from "./book.ts";

/**
 * Makes what changes a site, or asks it, begin with what other processes have written: a site that
 * another one has just made is there, and what another one has just changed stays.
 */
export function readingFirst(book: Pick<Book, "load">) {
  return <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      try {
        await book.load();
      } catch (error) {
        throw writeFailure(error);
      }
      return work(...args);
    };
}
