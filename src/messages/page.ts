import { invalid, type ServiceError } from "./error.ts";
import { message } from "./message.ts";

/** Bounds of the pages of a list. */
export interface PageBounds {
  /** Items of a page if the request has no page size. Default: 50. */
  readonly usual?: number;
  /** Default: 1,000. */
  readonly most?: number;
  /** Result of a larger number: `most` items (AIP-158), or INVALID_ARGUMENT. Default: most. */
  readonly beyond?: "most" | "invalid";
}

/** Number of items of a page. @throws INVALID_ARGUMENT for a negative number. */
export function pageLimit(
  value: number,
  { usual = 50, most = 1_000, beyond = "most" }: PageBounds = {},
): number {
  if (value < 0 || (beyond === "invalid" && value > most))
    throw invalid([
      {
        field: "page_size",
        description: message("PAGE_SIZE_INVALID", { field: "page_size", most, value }),
      },
    ]);
  return value === 0 ? usual : Math.min(value, most);
}

/** INVALID_ARGUMENT for an invalid page token. */
export function invalidPageToken(): ServiceError {
  return invalid([{ field: "page_token", description: message("PAGE_TOKEN_INVALID") }]);
}
