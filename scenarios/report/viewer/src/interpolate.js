// Values between samples: a place in time is (i, f), the fraction f of the way from sample i to sample i + 1.
import { Quaternion, Vector3 } from "three";

export function locate(times, t) {
  let low = 0;
  let high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  const f = (t - times[low]) / (times[high] - times[low]);
  return { i: low, f: Math.min(Math.max(f, 0), 1) };
}

// At a sample the neighbour must not count, since it may be missing (NaN).
export function vectorAt(values, { i, f }) {
  const a = new Vector3().fromArray(values, 3 * i);
  if (f === 0) return a;
  const b = new Vector3().fromArray(values, 3 * i + 3);
  return f === 1 ? b : a.lerp(b, f);
}

export function quaternionAt(values, { i, f }) {
  const read = (k) => new Quaternion(values[4 * k + 1], values[4 * k + 2], values[4 * k + 3], values[4 * k]);
  if (f === 0) return read(i);
  return f === 1 ? read(i + 1) : read(i).slerp(read(i + 1), f);
}

export const finite = (...values) => values.every((value) => value.toArray().every(Number.isFinite));
