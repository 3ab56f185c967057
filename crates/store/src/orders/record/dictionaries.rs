//! The dictionaries by which records are compressed.
//!
//! A record names its dictionary in the header of its frame: number 0, which a header leaves out,
//! is built in and has the names of fields and their usual values.

use std::cell::RefCell;
use std::sync::LazyLock;

use zstd::zstd_safe::{
    CCtx, CDict, DCtx, DDict, MAGICNUMBER, compress_bound, get_dict_id_from_frame, get_error_name,
    get_frame_content_size,
};

use crate::Error;
use crate::error::RecordFault;

/// The largest record. An order with a larger one is not stored.
pub(crate) const RECORD_BYTES_MAX: usize = 32 << 20;
/// The level of compression. Negative ones leave texts without a match as they are: no record has a
/// Huffman table, which takes longer to build than the rest to read. Level 3 saves a twentieth.
const LEVEL: i32 = -1;

/// The content of dictionary 0: what is alike in the records of all data. It is never changed.
pub(super) const BUILT_IN: &[u8] = concat!(
    r#""payStatus":4,"shipmentStatus":4,"payStatus":3,"shipmentStatus":3,"payStatus":2,"#,
    r#""shipmentStatus":2,"payStatus":0,"shipmentStatus":0,"payChannelName":null,"#,
    r#""shipmentTime":null,"cardNumber":null,"phone":null,"tradeStartTime":"2026-01-01 00:00:00","#,
    r#""payEndTime":null,"payEndDate":"2026-01-01 00:00:00","detailVOList":[{"goodsId":"","#,
    r#""goodsName":"","aisleCode":"","count":1,"goodsPrice":0,"salePrice":0,"payAmount":0,"#,
    r#""shipmentStatus":3,"shipmentErrCode":1,"shipmentFailDesc":""}]}"#,
    r#"{"deviceCode":"","currency":"","totalAmount":0,"payAmount":0,"refundAmount":0,"#,
    r#""payStatus":1,"shipmentStatus":1,"payChannelName":"","shipmentTime":"2026-01-01 00:00:00","#,
    r#""cardNumber":null,"phone":null,"tradeStartTime":"2026-01-01 00:00:00","#,
    r#""payEndTime":"2026-01-01 00:00:00","payEndDate":"2026-01-01 00:00:00","#,
    r#""detailVOList":[{"goodsId":"","goodsName":"","aisleCode":"","count":1,"goodsPrice":0,"#,
    r#""salePrice":0,"payAmount":0,"shipmentStatus":1,"shipmentErrCode":0,"#,
    r#""shipmentFailDesc":null},{"goodsId":"","goodsName":"","aisleCode":"","count":1,"#,
    r#""goodsPrice":0,"salePrice":0,"payAmount":0,"shipmentStatus":1,"shipmentErrCode":0,"#,
    r#""shipmentFailDesc":null}]}"#,
)
.as_bytes();

/// A dictionary, prepared for both directions.
pub(crate) struct Dictionary {
    packing: CDict<'static>,
    unpacking: DDict<'static>,
}

static BUILT_IN_PREPARED: LazyLock<Option<Dictionary>> =
    LazyLock::new(|| Dictionary::new(BUILT_IN));

thread_local! {
    /// Zstandard's context, and a frame.
    static UNPACKING: RefCell<Option<(DCtx<'static>, Vec<u8>)>> = const { RefCell::new(None) };
    static PACKING: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
}

impl Dictionary {
    /// Returns dictionary 0.
    pub(crate) fn built_in() -> Result<&'static Dictionary, Error> {
        BUILT_IN_PREPARED.as_ref().ok_or_else(no_memory)
    }

    fn new(content: &[u8]) -> Option<Dictionary> {
        Some(Dictionary {
            packing: CDict::try_create(content, LEVEL)?,
            unpacking: DDict::try_create(content)?,
        })
    }

    /// Compresses a text to a frame.
    pub(super) fn pack(&self, text: &[u8]) -> Result<Vec<u8>, Error> {
        PACKING.with_borrow_mut(|context| {
            let context = match context {
                Some(context) => context,
                None => context.insert(CCtx::try_create().ok_or_else(no_memory)?),
            };
            let mut frame = Vec::with_capacity(compress_bound(text.len()));
            context.compress_using_cdict(&mut frame, text, &self.packing).map_err(|code| {
                Error::Data(format!("compressing an order: {}", get_error_name(code)))
            })?;
            frame.shrink_to_fit();
            Ok(frame)
        })
    }
}

fn no_memory() -> Error {
    Error::Data("Zstandard has no memory".to_owned())
}

/// Appends the text of a packed record, whose first four bytes are not read.
pub(super) fn unpack(record: &[u8], out: &mut Vec<u8>) -> Result<(), RecordFault> {
    UNPACKING.with_borrow_mut(|context| {
        let (context, frame) = match context {
            Some(context) => context,
            None => {
                let made = DCtx::try_create().ok_or(RecordFault::Text)?;
                context.insert((made, Vec::new()))
            }
        };
        frame.clear();
        frame.extend_from_slice(&MAGICNUMBER.to_le_bytes());
        frame.extend_from_slice(record.get(size_of_val(&MAGICNUMBER)..).unwrap_or_default());
        let length = get_frame_content_size(frame).ok().flatten().ok_or(RecordFault::Text)?;
        let checked = usize::try_from(length).ok().filter(|length| *length <= RECORD_BYTES_MAX);
        let length = checked.ok_or(RecordFault::Length(length))?;
        let start = out.len();
        out.resize(start + length, 0);
        let place = out.get_mut(start..).unwrap_or_default();
        let unpack = |dictionary: &Dictionary| {
            let unpacked = context.decompress_using_ddict(place, frame, &dictionary.unpacking);
            if unpacked == Ok(length) { Ok(()) } else { Err(RecordFault::Text) }
        };
        match get_dict_id_from_frame(frame) {
            None => BUILT_IN_PREPARED.as_ref().map_or(Err(RecordFault::Text), unpack),
            Some(number) => Err(RecordFault::Dictionary(number.into())),
        }
    })
}
