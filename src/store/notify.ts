/** Tells the person who runs the site of something about the database. */
export type Notify = (level: "info" | "warn" | "error", message: string) => void;
