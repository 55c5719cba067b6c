/** A page of the site. */
export interface Page {
  /** Below the language's root, without `.md`, such as `driver/s3`. */
  readonly path: string;
  readonly title: string;
  /** Markdown with its first heading. */
  readonly text: string;
}
