import { readFileSync } from "node:fs";

/** A request in Chromium's own network log. */
export interface Logged {
  url: string;
  /** Origin of the requesting page; "not an origin" for the browser's own requests. */
  initiator: string;
}

/** Every request started by the browser, its pages, workers and service workers. */
export function requests(log: string): Logged[] {
  const text = readFileSync(log, "utf8");
  const { constants, events } = JSON.parse(text);
  const start = constants.logEventTypes.URL_REQUEST_START_JOB;
  if (start === undefined) throw new Error(`${log} knows no URL_REQUEST_START_JOB`);
  return events
    .filter((event: { type: number; params?: { url?: string } }) => event.type === start && event.params?.url)
    .map((event: { params: { url: string; initiator?: string } }) => ({
      url: event.params.url,
      initiator: event.params.initiator ?? "not an origin",
    }));
}
