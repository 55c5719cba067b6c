/** Texts of the last days of sites and mounts. */
export const daysTexts = {
  "days.about":
    "Each bar is a day in UTC, today last. Its height is the time that Mooring has looked at.",
  "days.comma": ", ",
  "days.failed": "failed",
  "days.mounts": "Mounts that have failed: last 30 days",
  "days.more": "Show more",
  "days.moreMounts": { one: "1 more mount has failed", other: "{count} more mounts have failed" },
  "days.never": "No mount has failed in the last 30 days.",
  "days.noIncident": "No incident of this day is kept.",
  "days.none": "Nothing was looked at yet.",
  "days.open": "open since",
  "days.period": "{from} to {to}",
  "days.reason": "First failure",
  "days.short": "less than a minute",
  "days.sites": "Sites: last 30 days",
  "days.strip": "{name}: last 30 days",
  "days.sum": "failed for {time}",
  "days.title": "{name} on {date} (UTC)",
  "days.total": "never failed",
  "days.unseen": "not looked at",
  "days.worked": "worked",
} as const;
