//! Packed files are unpacked by their first bytes, whatever they are called.

use std::io::Write as _;

use linpoint_history::formats::problem;

use crate::samples::{read, show, spec};

const TEXT: &[u8] = b"{\"process\":1,\"op\":\"enqueue\",\"arg\":5,\"ret\":null,\"call\":1,\"return\":2}\n";
const SHOWN: &str = "1 null: enqueue(5) -> null [1,2]\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn packed_files_are_read_as_they_are() {
    let spec = spec("queue");
    let second = String::from_utf8_lossy(TEXT).replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4");
    for pack in [gzip, zstd] {
        assert_eq!(show(&read(&spec, None, &pack(TEXT)).unwrap(), &spec), SHOWN);
        // One packed file after another is one file.
        let both = [pack(TEXT), pack(second.as_bytes())].concat();
        assert_eq!(read(&spec, None, &both).unwrap().operations.len(), 2);
        assert!(read(&spec, None, &pack(b"")).unwrap().operations.is_empty());
    }
}

#[test]
fn packed_files_that_are_damaged() {
    let spec = spec("queue");
    for pack in [gzip, zstd] {
        let packed = pack(&TEXT.repeat(1000));
        let cut = read(&spec, None, &packed[..packed.len() - 10]).unwrap_err();
        assert_eq!(cut.code, problem::DAMAGED, "{cut}");
        for at in 4..packed.len().min(80) {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x55;
            // Damage to a name or a time in the header does no harm; nothing may panic.
            let _ = read(&spec, None, &damaged);
        }
    }
}

/// What stands behind the end of a packed file: zeros pad it, anything else is told for what it is.
#[test]
fn what_follows_a_packed_file() {
    let spec = spec("queue");
    let packed = gzip(TEXT);
    let second = String::from_utf8_lossy(TEXT).replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4");
    for zeros in [1, 511, 100_000] {
        let padded = [packed.clone(), vec![0; zeros]].concat();
        assert_eq!(show(&read(&spec, None, &padded).unwrap(), &spec), SHOWN);
        // Not between members: behind zeros nothing follows.
        let more = [padded, gzip(second.as_bytes())].concat();
        assert!(read(&spec, None, &more).unwrap_err().message.contains("follow its end"));
    }
    for pack in [gzip, zstd] {
        for junk in [&b"x"[..], b"\n", b"some more text than a head", b"\0\0\0x", b"\xff\xff"] {
            let found = read(&spec, None, &[&pack(TEXT)[..], junk].concat()).unwrap_err();
            assert_eq!(found.code, problem::DAMAGED, "{found}");
            assert!(found.message.contains("bytes that are not packed follow its end"), "{found}");
            assert!(!found.help.contains("cut off"), "{}", found.help);
        }
        let cut = read(&spec, None, &pack(TEXT)[..20]).unwrap_err();
        assert!(cut.help.contains("cut off"), "{cut}");
    }
}

/// A sum that is wrong, at the end of the file or of one of several.
#[test]
fn a_wrong_sum_is_damage() {
    let spec = spec("queue");
    let mut packed = gzip(TEXT);
    let at = packed.len() - 8;
    packed[at] ^= 1;
    assert_eq!(read(&spec, None, &packed).unwrap_err().code, problem::DAMAGED);
    packed[at] ^= 1;
    packed[at + 4] ^= 1;
    assert_eq!(read(&spec, None, &packed).unwrap_err().code, problem::DAMAGED);
}
