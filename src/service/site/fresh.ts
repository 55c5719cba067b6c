import { writeFailure } from "../store-failure.ts";
import type { Book } from "./book.ts";
import type { SiteService } from "./service.ts";

/**
 * A service whose changes, and what it asks of a site, begin with what other processes have written: a
 * site that another one has just made is there, and what another one has just changed stays.
 */
export function readingFirst(book: Pick<Book, "load">, service: SiteService): SiteService {
  const first =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      try {
        await book.load();
      } catch (error) {
        throw writeFailure(error);
      }
      return work(...args);
    };
  return {
    ...service,
    update: first(service.update),
    delete: first(service.delete),
    check: first(service.check),
    compare: first(service.compare),
    adopt: first(service.adopt),
    sync: first(service.sync),
  };
}
